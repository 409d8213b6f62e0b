#include "runtime/abi/CompileCall.h"
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace attune {
namespace {

using nlohmann::json;

/// By number in replies: the two sides are built together, and a number outside is refused.
constexpr int lastErrorCode = int(ErrorCode::Internal);

json listingJson(const Listing &listing) {
  json rows = json::array();
  for (const ListingRow &row : listing.rows)
    rows.push_back({row.pc, row.isa, row.tileLine});
  return {{"tile", listing.tile}, {"rows", rows}};
}

Listing listingFrom(const json &object) {
  Listing listing{object.at("tile").get<std::string>(), {}};
  for (const json &row : object.at("rows"))
    listing.rows.push_back(
        {row.at(0).get<uint32_t>(), row.at(1).get<std::string>(), row.at(2).get<int>()});
  return listing;
}

} // namespace

std::string encodeRequest(const CompileRequest &request) {
  json knobs = json::array();
  for (const auto &[name, value] : request.knobs)
    knobs.push_back({name, value});
  return json{{"text", request.text},           {"file_name", request.fileName},
              {"attention", request.attention}, {"parameters", request.parameters},
              {"arch", request.arch},           {"knobs", knobs},
              {"listing", request.listing},     {"spec_digest", request.specDigest}}
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<CompileRequest> decodeRequest(std::string_view bytes) try {
  const json object = json::parse(bytes);
  CompileRequest request;
  object.at("text").get_to(request.text);
  object.at("file_name").get_to(request.fileName);
  object.at("attention").get_to(request.attention);
  object.at("parameters").get_to(request.parameters);
  object.at("arch").get_to(request.arch);
  object.at("spec_digest").get_to(request.specDigest);
  request.listing = object.value("listing", false); // an older libattune asks for none
  for (const json &knob : object.at("knobs"))
    request.knobs.emplace_back(knob.at(0).get<std::string>(), knob.at(1).get<std::string>());
  return request;
} catch (const json::exception &e) {
  return Error{ErrorCode::InvalidArgument, fmt::format("not a request to compile: {}", e.what())};
}

std::string encodeReply(const Result<CompileReply> &result) {
  if (!result)
    return json{{"error", int(result.error().code)}, {"message", result.error().message}}.dump(
               -1, ' ', false, json::error_handler_t::replace) +
           "\n";
  const KernelImage &image = result->image;
  json head{{"sidecar", toJson(image.sidecar)}};
  if (result->listing)
    head["listing"] = listingJson(*result->listing);
  std::string bytes = head.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  bytes.append(image.codeObject.begin(), image.codeObject.end());
  return bytes;
}

Result<CompileReply> decodeReply(std::string_view bytes) try {
  const size_t line = bytes.find('\n');
  if (line == std::string_view::npos)
    return Error{ErrorCode::Internal, "the compiler's reply is cut off"};
  const json head = json::parse(bytes.substr(0, line));
  if (head.contains("error")) {
    const int code = head.at("error").get<int>();
    const bool known = code >= 0 && code <= lastErrorCode;
    return Error{known ? ErrorCode(code) : ErrorCode::Internal,
                 head.at("message").get<std::string>()};
  }
  Result<Sidecar> sidecar = sidecarFromJson(head.at("sidecar").get<std::string>());
  if (!sidecar)
    return sidecar.error();
  CompileReply reply{{{bytes.begin() + ptrdiff_t(line) + 1, bytes.end()}, std::move(*sidecar)}, {}};
  if (const auto listing = head.find("listing"); listing != head.end())
    reply.listing = listingFrom(*listing);
  return reply;
} catch (const json::exception &e) {
  return Error{ErrorCode::Internal, fmt::format("not a reply of the compiler: {}", e.what())};
}

} // namespace attune
