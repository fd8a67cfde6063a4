// Package folder is the backend for volumes that are disk directories (package disk): staging formats one, publishing
// makes its content visible by a [Mounter]: a link, or a bind mount. Where a volume's directory is, its user says (packages
// dir and hollow).
//
// What is staged and published is kept in a file, the [Backend]'s mount table, so that a service which was killed and
// started again goes on where it was. Like the kernel's, the table lasts for one boot of the machine: of an earlier one
// the next service takes away what is left.
//
// Floor 1.
package folder
