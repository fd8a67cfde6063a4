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
	_, err := command(ctx, o, platform, "build", "-trimpath", "-buildvcs=false",
		"-ldflags", o.ldflags+o.stamp.ldflags(), "-o", file, "./cmd/"+p.name)
	return err
}

// command returns what the go command says in the main module, of a platform.
func command(ctx context.Context, o *options, platform v1.Platform, args ...string) (string, error) {
	c := exec.CommandContext(ctx, "go", args...)
	c.Dir, c.Env = o.root, environment(platform)
	var stderr strings.Builder
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("go %s for %s: %w\n%s", args[0], platform, err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(string(out)), nil
}

// environment is the go command's for a platform.
func environment(platform v1.Platform) []string {
	return append(foreign(os.Environ()),
		"CGO_ENABLED=0", "GOOS="+platform.OS, "GOARCH="+platform.Architecture,
		"GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOEXPERIMENT=", "GOFIPS140=off", "GOWORK=off",
	)
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
