// Package stage is what commands share that run scenarios: a [Machine] boots sandboxes in this process, one at a time,
// and a [Show] tells what happens on them and keeps it in a directory of artifacts.
//
// It decides neither what runs nor what is made of the results: that is the commands' business.
//
// Floor 5.
package stage
