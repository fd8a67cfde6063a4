// Command vsphere-csi is the vSphere CSI driver for a cluster, both controller and node service. Package csi implements
// it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	err := csi.Run(ctx, "", os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}
