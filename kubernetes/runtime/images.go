package runtime

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// MissingKey is the pod annotation with the images that no registry has, as patterns separated by commas: "*/web:broken".
// An image of a registry below .invalid, which is a name that never exists, is missing without it.
const MissingKey = "sandbox.vsphere/missing-images"

// images are those that the node has pulled. A registry has any image that is not missing.
type images struct {
	mu     sync.Mutex
	pulled map[string]*runtimeapi.Image
}

// imageBytes is the size of every image.
const imageBytes = 8 << 20

// unprivileged is the user of images whose name does not say that they run as root: pods with runAsNonRoot start.
const unprivileged = 65532

// image returns the image of a name, with an ID that is the same on all nodes.
func image(name string) *runtimeapi.Image {
	sum := sha256.Sum256([]byte(name))
	id := "sha256:" + hex.EncodeToString(sum[:])
	i := &runtimeapi.Image{Id: id, Size: imageBytes, Spec: &runtimeapi.ImageSpec{Image: id}}
	repository, digest, ok := strings.Cut(name, "@")
	if ok {
		i.RepoDigests = []string{repository + "@" + digest}
	} else {
		i.RepoTags = []string{name}
		if colon := strings.LastIndex(name, ":"); colon > strings.LastIndex(name, "/") {
			repository = name[:colon]
		}
		i.RepoDigests = []string{repository + "@" + id}
	}
	uid := int64(unprivileged)
	if shellImage(name) {
		uid = 0
	}
	i.Uid = &runtimeapi.Int64Value{Value: uid}
	return i
}

// shellImage reports whether an image is one whose containers are a shell and tools: its args are a command.
func shellImage(name string) bool {
	base := path.Base(strings.SplitN(name, "@", 2)[0])
	base, _, _ = strings.Cut(base, ":")
	switch base {
	case "busybox", "alpine", "debian", "ubuntu", "bash", "toybox", "shell", "os-shell", "fedora", "centos", "photon":
		return true
	}
	return false
}

// missing returns why a registry does not have an image; nil if it has.
func missing(name string, annotations map[string]string) error {
	host, _, ok := strings.Cut(name, "/")
	bare, _, _ := strings.Cut(host, ":")
	if ok && strings.HasSuffix(bare, ".invalid") {
		return status.Errorf(codes.Unknown, "failed to pull and unpack image %q: failed to resolve reference %q: dial tcp: lookup %s: no such host", name, name, bare)
	}
	for pattern := range strings.SplitSeq(annotations[MissingKey], ",") {
		pattern = strings.TrimSpace(pattern)
		if pattern == "" {
			continue
		}
		for _, candidate := range []string{name, strings.TrimSuffix(name, ":latest"), path.Base(name)} {
			if is, err := path.Match(pattern, candidate); err != nil {
				return status.Errorf(codes.InvalidArgument, "annotation %s: %q: %v", MissingKey, pattern, err)
			} else if is || pattern == candidate {
				return status.Errorf(codes.NotFound, "failed to pull and unpack image %q: %s: not found", name, name)
			}
		}
	}
	return nil
}

// ListImages implements the CRI.
func (r *Runtime) ListImages(_ context.Context, filter *runtimeapi.ImageFilter) ([]*runtimeapi.Image, error) {
	r.images.mu.Lock()
	defer r.images.mu.Unlock()
	var all []*runtimeapi.Image
	for name, i := range r.images.pulled {
		if want := filter.GetImage().GetImage(); want == "" || want == name || want == i.Id {
			all = append(all, i)
		}
	}
	slices.SortFunc(all, func(a, b *runtimeapi.Image) int { return strings.Compare(a.Id, b.Id) })
	return all, nil
}

// ImageStatus implements the CRI.
func (r *Runtime) ImageStatus(_ context.Context, spec *runtimeapi.ImageSpec, _ bool) (*runtimeapi.ImageStatusResponse, error) {
	return &runtimeapi.ImageStatusResponse{Image: r.images.find(spec.GetImage())}, nil
}

// find returns the image of a name or ID; nil if it is not on the node.
func (all *images) find(name string) *runtimeapi.Image {
	all.mu.Lock()
	defer all.mu.Unlock()
	if i, ok := all.pulled[name]; ok {
		return i
	}
	for _, i := range all.pulled {
		if i.Id == name {
			return i
		}
	}
	return nil
}

// PullImage implements the CRI. It takes no time.
func (r *Runtime) PullImage(_ context.Context, spec *runtimeapi.ImageSpec, _ *runtimeapi.AuthConfig, pod *runtimeapi.PodSandboxConfig) (string, error) {
	name := spec.GetImage()
	annotations := pod.GetAnnotations()
	if annotations == nil {
		annotations = spec.GetAnnotations()
	}
	if err := missing(name, annotations); err != nil {
		return "", err
	}
	i := image(name)
	r.images.mu.Lock()
	defer r.images.mu.Unlock()
	if r.images.pulled == nil {
		r.images.pulled = map[string]*runtimeapi.Image{}
	}
	r.images.pulled[name] = i
	return i.Id, nil
}

// RemoveImage implements the CRI.
func (r *Runtime) RemoveImage(_ context.Context, spec *runtimeapi.ImageSpec) error {
	r.images.mu.Lock()
	defer r.images.mu.Unlock()
	for name, i := range r.images.pulled {
		if name == spec.GetImage() || i.Id == spec.GetImage() {
			delete(r.images.pulled, name)
		}
	}
	return nil
}

// ImageFsInfo implements the CRI: images and containers are on the VM's disk, which is half full.
func (r *Runtime) ImageFsInfo(context.Context) (*runtimeapi.ImageFsInfoResponse, error) {
	disk := []*runtimeapi.FilesystemUsage{{
		Timestamp:  time.Now().UnixNano(),
		FsId:       &runtimeapi.FilesystemIdentifier{Mountpoint: "/"},
		UsedBytes:  &runtimeapi.UInt64Value{Value: r.opts.DiskBytes / 2},
		InodesUsed: &runtimeapi.UInt64Value{Value: r.opts.DiskInodes / 2},
	}}
	return &runtimeapi.ImageFsInfoResponse{ImageFilesystems: disk, ContainerFilesystems: disk}, nil
}
