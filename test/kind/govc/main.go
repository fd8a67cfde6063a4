// Command govc is upstream's, with the commands that pods of the tests run: about, and those of package object.
package main

import (
	"os"

	"github.com/vmware/govmomi/cli"
	_ "github.com/vmware/govmomi/cli/about"
	_ "github.com/vmware/govmomi/cli/object"
)

func main() { os.Exit(cli.Run(os.Args[1:])) }
