package main

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// produce makes the archive of an image. It is there whole or not at all; what it was made of is kept where making it
// again takes long (Debian's packages), and removed where it does not.
func produce(ctx context.Context, o *options, archive string, w io.Writer) error {
	work := o.path("work")
	if err := remove(work); err != nil {
		return err
	}
	if err := os.MkdirAll(work, 0o755); err != nil {
		return err
	}
	b := &build{options: o, work: work}
	for _, s := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"Debian's packages (half a minute; kept)", b.debian},
		{"Kubernetes and etcd (6 minutes; seconds when Go's cache has them)", b.kube},
		{"containerd (2 minutes, or seconds)", b.containerd},
		{"CoreDNS (2 minutes, or seconds)", b.coredns},
		{"CNI plugins and pause", b.small},
		{"the node's files", b.root},
		{"the images of the cluster's own pods", b.images},
		{"those images into the node's containerd", b.contents},
		{"the archive", func(ctx context.Context) error { return b.archive(ctx, archive) }},
	} {
		if err := step(w, s.name, func() error { return s.do(ctx) }); err != nil {
			return err
		}
	}
	fmt.Fprintf(w, "made %s\n", o.image)
	return remove(work)
}

// build is an image in the making.
type build struct {
	*options
	// work is a folder for intermediate files.
	work string
}

// in is a path in the working folder: programs/NAME, root (the node's files), images/NAME (those of an image).
func (b *build) in(name string) string { return b.work + "/" + name }

// archive writes the node's files as an image that `docker load` takes. It is made here, not by `docker import`, which
// refuses to set a stop signal, and so needs no Docker.
func (b *build) archive(ctx context.Context, file string) error {
	layer := b.in("layer.tar")
	if err := pack(ctx, b.in("root"), layer); err != nil {
		return err
	}
	diffID, _, err := digest(layer)
	if err != nil {
		return err
	}
	c := newConfig(diffID)
	// systemd detects the container by this variable, and then exits on its stop signal.
	c.Config.Env = append(c.Config.Env, "container=docker")
	c.Config.StopSignal = "SIGRTMIN+3"
	c.Config.Entrypoint = []string{"/usr/local/bin/entrypoint", "/sbin/init"}
	c.Config.Labels = map[string]string{
		"org.opencontainers.image.title":       "node of a kind cluster, of Debian packages and Go modules",
		"org.opencontainers.image.version":     b.release.version,
		"com.github.vsphere-sandbox.kind-node": b.image,
	}
	out, err := os.Create(file + ".new")
	if err != nil {
		return err
	}
	defer out.Close()
	if err := writeArchive(out, b.image, c, layer); err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// writeArchive writes an image of one layer in Docker's format.
func writeArchive(w io.Writer, image string, c config, layer string) error {
	described, err := json.Marshal(c)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%x.json", sha256.Sum256(described))
	manifest, err := json.Marshal([]map[string]any{{"Config": name, "RepoTags": []string{image}, "Layers": []string{"layer.tar"}}})
	if err != nil {
		return err
	}
	f, err := os.Open(layer)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	all := tar.NewWriter(w)
	for _, part := range []struct {
		name string
		size int64
		from io.Reader
	}{
		{name, int64(len(described)), bytes.NewReader(described)},
		{"layer.tar", info.Size(), f},
		{"manifest.json", int64(len(manifest)), bytes.NewReader(manifest)},
	} {
		if err := all.WriteHeader(&tar.Header{Name: part.name, Mode: 0o644, Size: part.size, Format: tar.FormatGNU}); err != nil {
			return err
		}
		if _, err := io.Copy(all, part.from); err != nil {
			return err
		}
	}
	return all.Close()
}

// beat is the interval of a running step's progress.
const beat = 4 * time.Second

// step runs do and writes to w at its beginning, at every beat, and at its end.
func step(w io.Writer, name string, do func() error) error {
	fmt.Fprintf(w, "%s\n", name)
	start := time.Now()
	done := make(chan struct{})
	var ticking sync.WaitGroup
	ticking.Go(func() {
		tick := time.NewTicker(beat)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				fmt.Fprintf(w, "  %4.0fs  %s\n", time.Since(start).Seconds(), name)
			}
		}
	})
	err := do()
	close(done)
	ticking.Wait()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	fmt.Fprintf(w, "  done in %.1fs\n", time.Since(start).Seconds())
	return nil
}

// command runs a program. An error has the last 20 lines of what the program said. The end of ctx is its end, and that of all that it started.
func command(ctx context.Context, dir string, env []string, name string, args ...string) error {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = dir
	if env != nil {
		c.Env = append(c.Environ(), env...)
	}
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGTERM) }
	c.WaitDelay = 10 * time.Second
	var said, wrong bytes.Buffer
	c.Stdout, c.Stderr = &said, &wrong
	if err := c.Run(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("%s: %w\n%s", name, err, tail(wrong.String()+said.String(), 20))
	}
	return nil
}

// tail is the last n lines of a text.
func tail(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// containerdVersion is the release that containerd reports of itself: that of programs/containerd/go.mod.
const containerdVersion = "v2.4.2"

func (b *build) kube(ctx context.Context) error {
	const version = "-X k8s.io/component-base/version."
	return b.compile(ctx, "kube", b.release.modFile(), "", version+"gitVersion="+b.release.version+" "+version+"gitMajor=1 "+version+"gitMinor="+b.release.minor(), ".")
}

func (b *build) containerd(ctx context.Context) error {
	const module = "github.com/containerd/containerd/v2/"
	return b.compile(ctx, "containerd", "", "no_aufs,no_zfs,no_btrfs,no_devmapper", "-X "+module+"version.Version="+containerdVersion,
		module+"cmd/containerd", module+"cmd/containerd-shim-runc-v2", module+"cmd/ctr")
}

func (b *build) coredns(ctx context.Context) error {
	return b.compile(ctx, "coredns", "", "", "", ".")
}

func (b *build) small(ctx context.Context) error {
	const module = "github.com/containernetworking/plugins/plugins/"
	if err := b.compile(ctx, "cni", "", "", "", module+"main/ptp", module+"main/loopback", module+"ipam/host-local", module+"meta/portmap"); err != nil {
		return err
	}
	return b.compile(ctx, "pause", "", "", "", ".")
}

// compile builds packages in the module programs/NAME into programs/ of the working folder: static, and independent of the user's Go
// settings. With modFile it takes that module file of the module.
func (b *build) compile(ctx context.Context, name, modFile, tags, ldflags string, packages ...string) error {
	dir := filepath.Join(b.source, "programs", name)
	args := append([]string{
		"build", "-buildvcs=false", "-tags", tags, "-ldflags", strings.TrimSpace("-s -w " + ldflags),
		"-o", b.in("programs") + "/",
	}, packages...)
	if modFile != "" {
		args = slices.Insert(args, 1, "-modfile="+modFile)
	}
	return command(ctx, dir, []string{"CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64", "GOFLAGS=", "GOWORK=off"}, "go", args...)
}

// remove deletes a folder of ours. What is mounted in it, as debootstrap leaves /proc when it is killed, is unmounted
// first: it is not ours.
func remove(dir string) error {
	real, err := filepath.EvalSymlinks(dir) // as the kernel names it
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return err
	}
	inside := mountedIn(string(mounts), real)
	for _, point := range slices.Backward(inside) {
		if err := syscall.Unmount(point, 0); err != nil {
			return fmt.Errorf("%s is mounted and cannot be unmounted: %w", point, err)
		}
	}
	return os.RemoveAll(dir)
}

// mountedIn are the mount points below a folder, of the text of /proc/self/mounts, in its order.
func mountedIn(mounts, dir string) []string {
	plain := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	var found []string
	for line := range strings.Lines(mounts) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		if point := plain.Replace(fields[1]); strings.HasPrefix(point, dir+"/") {
			found = append(found, point)
		}
	}
	return found
}
