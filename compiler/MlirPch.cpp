// Owns the precompiled header; nothing else belongs here (see MlirPch.h).
