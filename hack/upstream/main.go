// Command upstream builds programs of upstream's vSphere CSI driver, unmodified, from its Go module into the user's cache,
// where they stay, and prints their folder. The first time it takes some minutes.
//
//	make csi-upstream
//	go run ./hack/upstream [v3.7.0]
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/csidriver"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/program"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	version := "v3.7.0"
	if len(os.Args) > 1 {
		version = os.Args[1]
	}
	say := func(format string, args ...any) { fmt.Fprintf(os.Stderr, "upstream: "+format+"\n", args...) }
	programs, err := csidriver.Build(ctx, version, program.Options{Progress: func(text string) { say("%s", text) }})
	if err != nil {
		say("%v", err)
		os.Exit(1)
	}
	fmt.Println(programs.Dir)
}
