// SHA-256: the examples of FIPS 180-4, and one answer from both forms.
#include "runtime/abi/Digest.h"
#include <catch2/catch.hpp>
#include <random>
#include <vector>

using namespace attune;

TEST_CASE("Digests are those of FIPS 180-4") {
  CHECK(sha256Hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256Hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256Hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(sha256Hex(std::string(1'000'000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("A digest does not depend on how its bytes are cut") {
  std::mt19937 random(1);
  std::string text(1000, '\0');
  for (char &c : text)
    c = char(random());
  for (size_t size = 0; size <= 200; ++size) {
    const std::string part = text.substr(0, size);
    const std::string whole = sha256Hex(part);
    Digest single;
    for (char c : part)
      single.bytes(std::string_view(&c, 1));
    CHECK(single.hex() == whole);
    const size_t cut = random() % (size + 1);
    CHECK(Digest().bytes(part.substr(0, cut)).bytes(part.substr(cut)).hex() == whole);
  }
}

TEST_CASE("The processor's instructions and plain C++ give the same state") {
  const Sha256Blocks native = sha256Native();
  if (!native) {
    WARN("skipped: this processor has no instructions for SHA-256");
    return;
  }
  std::mt19937 random(2);
  for (size_t blocks : {0, 1, 2, 3, 7, 64}) {
    // At every alignment: entries are hashed where they lie.
    std::vector<uint8_t> data(blocks * sha256BlockBytes + 16);
    for (uint8_t &byte : data)
      byte = uint8_t(random());
    for (size_t offset = 0; offset < 16; ++offset) {
      Sha256State a, b;
      for (size_t i = 0; i < 8; ++i)
        a[i] = b[i] = uint32_t(random());
      sha256Portable(a, data.data() + offset, blocks);
      native(b, data.data() + offset, blocks);
      CHECK(a == b);
    }
  }
}
