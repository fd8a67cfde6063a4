package kind

import (
	"context"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
)

// versionLabel is what images of hack/kind-node say their Kubernetes is. kind's own have only a file.
const versionLabel, versionFile = "org.opencontainers.image.version", "/kind/version"

// helperLabel is on containers of ours that are no nodes; they last for a moment.
const helperLabel = "vsphere-sandbox.helper"

// AsRoot returns what runs a shell script as root in a container of a node image that ends with it, where a directory of this
// machine is at its own path. A sandbox whose user is not root has what pods have written copied and removed by it; there is no
// other root to ask when the nodes are gone. [Reap] removes one that is left.
func AsRoot(rt *runtime.Runtime, image, sandbox string) func(ctx context.Context, dir, script string, args ...string) error {
	return func(ctx context.Context, dir, script string, args ...string) error {
		return rt.Script(ctx, image, helperLabel+"="+ClusterName(sandbox), dir, script, args...)
	}
}

// buildTry is how to come by a node image.
const buildTry = "sudo hack/kind-node/build -load makes one without a registry; --kind-image names it\n" +
	"or load an archive of one: vsphere-sandbox images load"

// image has the node image on this machine, and made for the right Kubernetes.
func (c *Cluster) image(ctx context.Context, say sayf) error {
	name := c.opts.Image
	known, err := c.rt.Image(ctx, name)
	if coded.Is(err, runtime.ImageMissing) {
		say("pulling node image %s", name)
		if err := c.rt.Pull(ctx, name, &lines{say: say}); err != nil {
			if coded.Is(err, runtime.ImageMissing) {
				return coded.New(runtime.ImageMissing, buildTry, err, "kind")
			}
			return err
		}
		known, err = c.rt.Image(ctx, name)
	}
	if err != nil {
		return err
	}
	want := c.opts.kubernetes()
	if minor(want) == "" {
		return nil // a program that links no Kubernetes cannot compare
	}
	got := known.Labels[versionLabel]
	if minor(got) == "" {
		if got, err = c.rt.Read(ctx, name, helperLabel+"="+c.Name(), versionFile); err != nil {
			if context.Cause(ctx) != nil {
				return err
			}
			return coded.New(ImageUnfit, buildTry, err, "image %s is no node image: it has no file %s", name, versionFile)
		}
	}
	switch {
	case minor(got) != minor(want):
		return coded.New(ImageUnfit, buildTry+"\nkindest/node:"+minor(want)+".x where there is a registry", nil,
			"image %s is of Kubernetes %s: this release needs %s", name, got, minor(want))
	case got != want:
		say("node image %s is of Kubernetes %s, not %s: that may do", name, got, want)
	}
	return nil
}

// minor returns the "v1.36" of a release, "" when it is none.
func minor(release string) string {
	major, rest, ok := strings.Cut(release, ".")
	minor, _, _ := strings.Cut(rest, ".")
	if !ok || major != "v1" || minor == "" || strings.Trim(minor, "0123456789") != "" {
		return ""
	}
	return major + "." + minor
}
