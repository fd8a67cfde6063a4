// Command vsphere-sandbox is a vSphere-backed Kubernetes cluster on a laptop. Package cli is all of it. Started under
// the name vcsim, it is vcsim: see package vcsim.
package main

import (
	"context"
	"os"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/vcsim"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
)

func main() {
	run := cli.Main
	if vcsim.IsName(os.Args[0]) {
		run = vcsim.Main
	}
	os.Exit(run(context.Background(), os.Args[1:], iostreams.System()))
}
