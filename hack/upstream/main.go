// Command upstream builds programs of upstream's vSphere CSI driver, unmodified, from its Go module into the user's cache,
// where they stay, and prints their folder. The first time it takes some minutes; the syncer needs a C compiler, because
// its release is built with BoringCrypto.
//
//	make csi-upstream
//	go run ./hack/upstream [v3.7.0]
package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/upstream"
)

const module = "sigs.k8s.io/vsphere-csi-driver/v3"

// pinned returns the checksum of a release, as go.sum has it; empty for one that is not known here.
func pinned(version string) string {
	if version == "v3.7.0" {
		return "h1:qLKC7gXRS8fhX6CMzif1VsE4/nSePGKO71k9R9UXJJ8="
	}
	return ""
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	version := "v3.7.0"
	if len(os.Args) > 1 {
		version = os.Args[1]
	}
	dir, err := build(ctx, version)
	if err != nil {
		fmt.Fprintf(os.Stderr, "upstream: %s@%s: %v\n", module, version, err)
		os.Exit(1)
	}
	fmt.Println(dir)
}

// build makes what is not there yet, and returns the folder that it is in.
func build(ctx context.Context, version string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "vsphere-sandbox", "upstream", "csi", version, runtime.GOOS+"-"+runtime.GOARCH)
	var missing []upstream.Program
	for _, p := range []upstream.Program{
		{Package: "./cmd/vsphere-csi", Path: filepath.Join(dir, "vsphere-csi")},
		// As upstream's Makefile and Dockerfiles have it: the syncer imports crypto/tls/fipsonly.
		{Package: "./cmd/syncer", Path: filepath.Join(dir, "syncer"), Env: []string{"GOEXPERIMENT=boringcrypto", "CGO_ENABLED=1"}},
	} {
		if _, err := os.Stat(p.Path); errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, p)
		}
	}
	if len(missing) == 0 {
		return dir, nil
	}
	tool := upstream.Toolchain{Say: func(format string, args ...any) { fmt.Fprintf(os.Stderr, "upstream: "+format+"\n", args...) }}
	return dir, tool.Build(ctx, upstream.Module{Path: module, Version: version, Sum: pinned(version)}, missing...)
}
