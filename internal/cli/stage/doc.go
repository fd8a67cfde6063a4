// Package stage is shared by commands that run scenarios: a [Booter] boots sandboxes in this process, one at a time, and
// a [Show] prints what happens on them and keeps it in a directory of artifacts.
//
// The commands decide what runs and how the results count.
//
// Floor 5.
package stage
