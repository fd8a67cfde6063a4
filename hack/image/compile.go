package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// compile makes the static binary of a program for a platform, and nothing of this machine gets into it: no path, no
// repository state, no setting of whoever runs this.
func compile(ctx context.Context, o *options, p program, platform v1.Platform, file string) error {
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", o.ldflags+o.stamp.ldflags(), "-o", file, "./cmd/"+p.name)
	build.Dir = o.root
	build.Env = append(foreign(os.Environ()),
		"CGO_ENABLED=0", "GOOS="+platform.OS, "GOARCH="+platform.Architecture,
		"GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOEXPERIMENT=", "GOFIPS140=off", "GOWORK=off",
	)
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go build for %s: %w\n%s", platform, err, strings.TrimSpace(string(out)))
	}
	return nil
}

// foreign leaves out what `go run` and `go test` set for themselves.
func foreign(environ []string) []string {
	var kept []string
	for _, v := range environ {
		if name, _, _ := strings.Cut(v, "="); name != "GOOS" && name != "GOARCH" && name != "PWD" {
			kept = append(kept, v)
		}
	}
	return kept
}
