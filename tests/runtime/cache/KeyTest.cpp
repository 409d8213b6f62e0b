// Keys: one text per list of values, no two lists alike.
#include "runtime/abi/Digest.h"
#include "tests/runtime/cache/Testing.h"
#include <catch2/catch.hpp>
#include <random>
#include <set>

using namespace attune;
using namespace attune::cache;

TEST_CASE("The text of a key is versioned, sorted and delimited by lengths") {
  auto key = KeyBuilder().add("spec", "two\nlines").add("arch", "gfx950").build();
  REQUIRE(key);
  CHECK(key->text() == "attune-key 1\narch 6:gfx950\nspec 9:two\nlines\n");
  CHECK(key->digest() == sha256Hex(key->text()));
  auto turned = KeyBuilder().add("arch", "gfx950").add("spec", "two\nlines").build();
  CHECK(turned->digest() == key->digest());
}

TEST_CASE("Label and command are no part of the key") {
  auto plain = KeyBuilder().add("a", "b").build();
  auto named = KeyBuilder().add("a", "b").label("x").command("y").build();
  CHECK(plain->digest() == named->digest());
}

TEST_CASE("Lists that would run together stay distinct") {
  std::set<std::string> digests;
  for (auto builder : {KeyBuilder().add("a", "bc"), KeyBuilder().add("ab", "c"),
                       KeyBuilder().add("a", "b").add("c", ""), KeyBuilder().add("a", ""),
                       KeyBuilder().add("a", "1:b\nc 1:d"),
                       KeyBuilder().add("a", "b").add("c", "d"), KeyBuilder().add("a", "b\nc 1:d")})
    digests.insert(builder.build()->digest());
  CHECK(digests.size() == 7);
}

TEST_CASE("Bad names, repeated names and empty lists are refused") {
  auto twice = KeyBuilder().add("arch", "a").add("spec", "s").add("arch", "b").build();
  REQUIRE_FALSE(twice);
  CHECK(twice.error().message.find("\"arch\" is given twice") != std::string::npos);
  CHECK_FALSE(KeyBuilder().build());
  for (const char *name : {"", "Upper", "a b", "a:b", "a\nb", "\xc3\xa4"})
    CHECK_FALSE(KeyBuilder().add(name, "v").build());
}

TEST_CASE("A key's text is read back, whatever bytes its values have; other texts are refused") {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    KeyFields fields;
    KeyBuilder builder;
    for (char name = 'a'; name < char('a' + 1 + round % 5); ++name) {
      std::string value;
      for (size_t n = random() % 12; n > 0; --n)
        value += "a :\n1\0\xff"[random() % 7];
      fields.emplace_back(std::string(1, name), value);
      builder.add(std::string(1, name), value);
    }
    auto key = builder.build();
    auto parsed = parseKey(key->text());
    REQUIRE(parsed);
    CHECK(*parsed == fields);
    CHECK_FALSE(parseKey(key->text().substr(0, key->text().size() - 1)));
  }
  for (const char *text :
       {"", "attune-key 2\na 1:b\n", "attune-key 1\na 9:b\n", "attune-key 1\na x:b\n",
        "attune-key 1\na b\n", "attune-key 1\na 18446744073709551615:b\n"})
    CHECK_FALSE(parseKey(text));
}

TEST_CASE("Two keys differ in the fields that are named") {
  KeyFields a = {{"arch", "x"}, {"only_a", "1"}, {"spec", "s"}};
  KeyFields b = {{"arch", "y"}, {"only_b", "1"}, {"spec", "s"}};
  CHECK(differingFields(a, b) == std::vector<std::string>{"arch", "only_a", "only_b"});
  CHECK(differingFields(a, a).empty());
}
