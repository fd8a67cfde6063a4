package attach

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"log/slog"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/existing"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Options configure the sandbox and its cluster. Fields are mandatory unless they are called optional.
type Options struct {
	Name     string
	Topology *topology.Topology
	// Speed is the sandbox's; optional: [pace.Default].
	Speed pace.Speed
	// Target is the cluster. Optional: the one that kubectl would take.
	Target existing.Target
	// Image is what the pods run, REPOSITORY[:TAG][@DIGEST].
	Image string
	// Args come after those of "up" in the pod: "--csi", "off". Optional.
	Args []string
	// Shards is how many pods share the light nodes; 0 for as many as they need.
	Shards int
	// AllowController and AllowUnowned allow what [existing.Intent] says.
	AllowController, AllowUnowned bool
	// Dir is the instance's directory, whose lock this process holds.
	Dir    *instance.Dir
	Logger *slog.Logger
	// Progress is called whenever what is being done changes. It must not block. Optional.
	Progress func(sandbox.Progress)
}

// perShard is how many light nodes one pod is given.
const perShard = 2000

// maxText is the size up to which a topology is put into its ConfigMap as it is, in bytes: one holds 1 MiB.
const maxText = 512 << 10

// maxPacked is the size up to which it can be put there compressed, in base64.
const maxPacked = 1<<20 - 4<<10

// intent is what the cluster's own nodes have to be guarded from.
func (o Options) intent() existing.Intent {
	i := existing.Intent{Name: o.Name, AllowController: o.AllowController, AllowUnowned: o.AllowUnowned}
	for _, n := range o.Topology.Nodes() {
		i.VMs = append(i.VMs, existing.VMOf(n))
	}
	return i
}

// values are those of the chart.
func (o Options) values() (map[string]any, error) {
	text, err := topology.Marshal(o.Topology)
	if err != nil {
		return nil, err
	}
	repository, tag, digest := splitImage(o.Image)
	shards := o.Shards
	if nodes := len(o.Topology.Nodes()); shards == 0 {
		shards = (nodes + perShard - 1) / perShard
	}
	o.Speed = cmp.Or(o.Speed, pace.Default)
	args := make([]any, len(o.Args)) // as YAML has lists
	for i, arg := range o.Args {
		args[i] = arg
	}
	values := map[string]any{
		"image":      map[string]any{"repository": repository, "tag": tag, "digest": digest},
		"speed":      float64(o.Speed),
		"sandbox":    map[string]any{"extraArgs": args},
		"lightNodes": map[string]any{"shards": shards},
	}
	if len(text) <= maxText {
		values["topology"] = string(text)
		return values, nil
	}
	var small bytes.Buffer
	z := gzip.NewWriter(&small)
	_, _ = z.Write(text) // into memory
	if err := z.Close(); err != nil {
		return nil, err
	}
	packed := base64.StdEncoding.EncodeToString(small.Bytes())
	if len(packed) > maxPacked {
		return nil, fmt.Errorf("topology: it has %d bytes, compressed %d, and a ConfigMap holds 1 MiB: use fewer VMs", len(text), len(packed))
	}
	values["topologyGzip"] = packed
	return values, nil
}

// splitImage parts a reference. What follows the last colon is a tag unless it has a slash: then the colon is of a port.
func splitImage(ref string) (repository, tag, digest string) {
	ref, digest, _ = strings.Cut(ref, "@")
	if i := strings.LastIndexByte(ref, ':'); i >= 0 && !strings.Contains(ref[i:], "/") {
		return ref[:i], ref[i+1:], digest
	}
	return ref, "latest", digest
}
