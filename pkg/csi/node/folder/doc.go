// Package folder is a backend for volumes that are disk directories (package disk). Staging formats a disk, and publishing makes
// its content available with a [Mounter]: a symlink or a bind mount. Its users, packages dir and hollow, find the directories.
//
// Staged and published volumes are recorded in a file, the [Backend]'s mount table, so that the service continues after a restart.
// As the kernel's, the table is valid for one boot of the node: the next service cleans up what an earlier boot left.
//
// Floor 1.
package folder
