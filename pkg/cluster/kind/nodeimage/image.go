package nodeimage

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/images"
)

// The repositories that node images are of.
const (
	Official = "kindest/node"
	Own      = "vsphere-sandbox/kind-node"
)

// helperLabel is on the container that reads what an image says; its value is [Finder.Helper].
const helperLabel = "vsphere-sandbox.helper"

// Labels of our own images.
const (
	ownLabel     = "com.github.vsphere-sandbox.kind-node"
	versionLabel = "org.opencontainers.image.version"
)

// Image is a node image.
type Image struct {
	// Name is what kind has to be told.
	Name string
	// Kubernetes is the release in it: "v1.36.4".
	Kubernetes string
	// Own tells that hack/kind-node has made it.
	Own bool
	// Loaded tells that the runtime has it, Archive is the file it can be loaded from, "" where there is none.
	Loaded  bool
	Archive string
	// Size is what it takes, unpacked when it is loaded and packed otherwise, in bytes; Platform what it runs on; ID the
	// runtime's name for it, "" when it is not loaded.
	Size     int64
	Platform string
	ID       string
}

// of is the Image that an image of a runtime is.
func (f Finder) of(ctx context.Context, is images.Image) (Image, error) {
	version := released(is.Name, is.Labels)
	if version == "" {
		said, err := f.Store.Runtime.Read(ctx, is.Name, helperLabel+"="+cmp.Or(f.Helper, "nodeimage"), "/kind/version")
		if err != nil || !isVersion(said) {
			return Image{}, &coded.Error{
				Code: Unknown, Message: fmt.Sprintf("%s is no node image of kind: it does not say in /kind/version which Kubernetes it has", is.Name),
				Try: "one whose name begins with " + Official + ":v", Err: err,
			}
		}
		version = said
	}
	return Image{Name: is.Name, Kubernetes: version, Own: is.Labels[ownLabel] != "", Loaded: true, Size: is.Size, Platform: is.Platform, ID: is.ID}, nil
}

// released is the Kubernetes release that an image's labels or its name tell, "" when they do not.
func released(name string, labels map[string]string) string {
	if labels[ownLabel] != "" && isVersion(labels[versionLabel]) {
		return labels[versionLabel]
	}
	name, _, _ = strings.Cut(name, "@")
	if _, tag, ok := strings.Cut(name, Official+":"); ok && isVersion(tag) {
		return tag
	}
	return ""
}

func isVersion(s string) bool {
	return regexp.MustCompile(`^v\d+\.\d+\.\d+([-+][\w.+-]+)?$`).MatchString(s)
}

// minor is a release without its patch: "v1.36".
func minor(version string) string {
	parts := strings.SplitN(version, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}
