// Command vsphere-sandbox is a vSphere-backed Kubernetes cluster on a laptop. Package cli is all of it.
package main

import (
	"context"
	"os"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
)

func main() { os.Exit(cli.Main(context.Background(), os.Args[1:], iostreams.System())) }
