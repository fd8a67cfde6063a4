// Package private reads files that only their owner can have written (internal/atomicfile writes them): what lies in a state directory decides
// which processes are killed, which containers are removed and what is written to a real vCenter, so a file that another
// user planted there must not be believed.
//
// A file is private when it is a regular file with one name, belongs to the user of this process, and grants nothing to
// group or others. It is judged by its open descriptor, and opened without following a link, so nothing changes between
// the look and the read. A directory is private when it is one, belongs to the user and only the user can write to it.
//
// Directories above a private one are not judged. A user who can rename them can hide a private directory, or put another
// one of the same user's in its place; they cannot make a file that passes as the user's. /tmp, which is everyone's and
// sticky, does not even allow that.
//
// Floor 0. It knows nothing of sandboxes.
package private
