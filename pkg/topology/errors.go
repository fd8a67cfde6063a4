package topology

import "github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"

type (
	// Error is one thing that is wrong with a topology file.
	Error = strict.Error
	// Errors is everything that is wrong with a topology: [Load] returns it as its error.
	Errors = strict.Errors
)
