# Writes OUT, a C++ file that holds the text of FILES (a list) as raw strings, one row each, sorted by name.
set(rows "")
list(SORT FILES)
foreach(file ${FILES})
  get_filename_component(name ${file} NAME)
  file(READ ${file} text)
  string(APPEND rows "      {\"${name}\", R\"attn(${text})attn\"},\n")
endforeach()
file(WRITE ${OUT} "#include \"compiler/spec/Imports.h\"

namespace attune::spec {

std::span<const LibraryFile> libraryFiles() {
  static constexpr LibraryFile files[] = {
${rows}  };
  return files;
}

} // namespace attune::spec
")
