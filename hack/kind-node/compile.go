package main

import (
	"context"
	"path/filepath"
	"strings"
)

// The releases that programs say of themselves. Which ones they are is in the go.mod of each.
const (
	kubernetesVersion = "v1.36.4"
	containerdVersion = "v2.4.2"
)

func (b *build) kube(ctx context.Context) error {
	const version = "-X k8s.io/component-base/version."
	return b.compile(ctx, "kube", "", version+"gitVersion="+kubernetesVersion+" "+version+"gitMajor=1 "+version+"gitMinor=36", ".")
}

func (b *build) containerd(ctx context.Context) error {
	const module = "github.com/containerd/containerd/v2/"
	return b.compile(ctx, "containerd", "no_aufs,no_zfs,no_btrfs,no_devmapper", "-X "+module+"version.Version="+containerdVersion,
		module+"cmd/containerd", module+"cmd/containerd-shim-runc-v2", module+"cmd/ctr")
}

func (b *build) coredns(ctx context.Context) error { return b.compile(ctx, "coredns", "", "", ".") }

func (b *build) small(ctx context.Context) error {
	const module = "github.com/containernetworking/plugins/plugins/"
	if err := b.compile(ctx, "cni", "", "", module+"main/ptp", module+"main/loopback", module+"ipam/host-local", module+"meta/portmap"); err != nil {
		return err
	}
	return b.compile(ctx, "pause", "", "", ".")
}

// compile builds packages in the module programs/NAME into programs/ of the working folder: static, and independent of
// the user's Go settings.
func (b *build) compile(ctx context.Context, name, tags, ldflags string, packages ...string) error {
	dir := filepath.Join(b.source, "programs", name)
	args := append([]string{
		"build", "-buildvcs=false", "-tags", tags, "-ldflags", strings.TrimSpace("-s -w " + ldflags),
		"-o", b.in("programs") + "/",
	}, packages...)
	return command(ctx, dir, []string{"CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64", "GOFLAGS=", "GOWORK=off"}, "go", args...)
}
