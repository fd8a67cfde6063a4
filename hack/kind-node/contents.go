package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// contents puts the pods' images into the folder that the node's containerd keeps its own in, by a containerd that runs
// here for that long: no container is needed. They are pinned, so that no kubelet ever collects them; they are unpacked on
// the node, where it is known how.
func (b *build) contents(ctx context.Context) (err error) {
	layout := b.in("layout.tar")
	if err := pack(ctx, b.in("layout"), layout); err != nil {
		return err
	}
	// A socket's path may have some 100 characters, a cache's may be longer.
	dir, err := os.MkdirTemp("", "kind-node-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove(dir)) }()
	settings := filepath.Join(dir, "config.toml")
	// What would look for this machine's networks and devices is off.
	const off = "version = 3\ndisabled_plugins = ['io.containerd.grpc.v1.cri', 'io.containerd.cri.v1.images', 'io.containerd.cri.v1.runtime', 'io.containerd.nri.v1.nri']\n"
	if err := os.WriteFile(settings, []byte(off), 0o600); err != nil {
		return err
	}
	address, log := filepath.Join(dir, "c.sock"), b.in("containerd.log")
	out, err := os.Create(log)
	if err != nil {
		return err
	}
	defer out.Close()
	daemon := exec.CommandContext(ctx, b.in("programs/containerd"), "--config", settings, "--address", address,
		"--state", filepath.Join(dir, "state"), "--root", b.in("root/var/lib/containerd"))
	daemon.Stdout, daemon.Stderr = out, out
	daemon.Cancel = func() error { return daemon.Process.Signal(syscall.SIGTERM) }
	daemon.WaitDelay = 10 * time.Second
	if err := daemon.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() { _ = daemon.Wait(); close(ended) }()
	defer func() {
		_ = daemon.Process.Signal(syscall.SIGTERM)
		<-ended
	}()
	if err := listening(ctx, address, ended); err != nil {
		said, _ := os.ReadFile(log)
		return fmt.Errorf("containerd: %w\n%s", err, tail(string(said), 10))
	}
	return command(ctx, "", nil, b.in("programs/ctr"), "--address", address, "--namespace", "k8s.io", "images", "import",
		"--no-unpack", "--all-platforms", "--label=io.cri-containerd.pinned=pinned", layout)
}

// listening waits until a server listens on a socket, or until it has exited.
func listening(ctx context.Context, address string, ended <-chan struct{}) error {
	var d net.Dialer
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if conn, err := d.DialContext(ctx, "unix", address); err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ended:
			return errors.New("it ended before it listened")
		case <-tick.C:
		}
	}
}
