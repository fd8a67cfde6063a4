package main

import (
	"context"
	"fmt"
	"io"
)

// load gives an archive to docker, whichever DOCKER_HOST or the current context names, unless it has the image: one with
// Debian's packages of another day goes by the same name.
func load(ctx context.Context, o *options, archive string, w io.Writer) error {
	if err := command(ctx, "", nil, "docker", "version", "--format", "{{.Server.Version}}"); err != nil {
		return fmt.Errorf("no Docker to load the image into: %w\nhack/kind-node/dockerd starts one of your own", err)
	}
	if err := command(ctx, "", nil, "docker", "image", "inspect", o.image); err == nil && !o.debianAgain {
		fmt.Fprintf(w, "docker has %s\n", o.image)
		return nil
	}
	return step(w, "the archive into docker", func() error {
		return command(ctx, "", nil, "docker", "load", "--quiet", "--input", archive)
	})
}
