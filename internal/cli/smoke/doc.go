// Package smoke is the commands that judge releases of cloud controller managers: smoke, and matrix, which has several run
// the same scenarios.
//
// They boot sandboxes in this process and tell what comes of them. What is asked of a release is package
// pkg/scenario/smoke's.
package smoke
