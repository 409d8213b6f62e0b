# Writes OUT, a header with the text of FILE as the raw string kProfilePage.
file(READ ${FILE} text)
file(WRITE ${OUT} "#pragma once\nnamespace attune::tool {\ninline constexpr const char *kProfilePage = R\"page(${text})page\";\n}\n")
