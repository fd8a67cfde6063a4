// Package secret keeps the secrets of one instance: what must not leave it, and what it has to remember nevertheless.
//
// A [Store] is two files of the instance directory, mode 0600. [KeyFile] holds a random key that never leaves the
// directory. [File] holds every secret that the instance has known, encrypted with that key, a line each: a password that
// was replaced an hour ago still stands in a log, and what masks that log has to know it, also after a crash. Other
// files of the directory, such as the journal of faults, keep a secret as [Store.Seal] returns it.
//
// Encryption is AES-256-GCM of the standard library. It protects copies of single files of the instance directory. It
// does not protect from a reader of the whole directory.
//
// Package mask, below, takes the secrets out of text.
//
// Floor 0.
package secret
