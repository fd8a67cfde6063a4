package topology

import "github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"

type (
	// Error is one problem of a topology file.
	Error = strict.Error
	// Errors are all problems of a topology, the error of [Load].
	Errors = strict.Errors
)
