// Package atomicfile replaces files in one step: a reader sees the old content or the new one, never a part, also when the
// disk is full or the process is killed.
//
// It does not sync: a file need not survive a loss of power, and a sync costs more than all else that `up` does with files.
// That is why it is not google/renameio. A caller that wants one calls Sync before it commits.
//
// Floor 0.
package atomicfile
