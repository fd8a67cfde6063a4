package govc

import (
	"os"

	"github.com/vmware/govmomi/cli"
)

// Main runs govc with arguments, those after its name, and returns its exit status. It writes to the standard streams
// of the process, and must be called once per process only: its commands remember their flags.
func Main(args []string) int {
	os.Args[0] = "govc" // how it calls itself in what it says
	return cli.Run(args)
}
