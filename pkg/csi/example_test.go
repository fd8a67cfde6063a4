package csi_test

import (
	"context"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi"
)

// A program that is the driver, as cmd/vsphere-csi.
func ExampleRun() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := csi.Run(ctx, "", os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}
