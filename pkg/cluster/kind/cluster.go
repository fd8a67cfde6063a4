package kind

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"go.yaml.in/yaml/v3"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/relay"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
)

var _ cluster.Cluster = (*Cluster)(nil)

// Cluster is a kind cluster. Create one with [New]; methods that need an API server may be called, from any goroutine, once
// [Cluster.Create] has returned.
type Cluster struct {
	opts     Options
	machines []machine
	config   []byte
	services netip.Prefix
	pods     netip.Prefix // zero if they have only IPv6

	rt     *runtime.Runtime
	rest   *rest.Config
	client kubernetes.Interface
	took   time.Duration

	mu     sync.Mutex
	relays []*relay.Relay
}

// New checks the options and renders the configuration. It changes nothing.
func New(opts Options) (*Cluster, error) {
	if err := opts.check(); err != nil {
		return nil, &coded.Error{Code: "usage", Message: "kind", Err: err}
	}
	c := &Cluster{opts: opts, machines: machines(opts), rt: opts.Runtime}
	if err := c.render(); err != nil {
		return nil, err
	}
	return c, nil
}

// render renders the configuration from the options.
func (c *Cluster) render() error {
	rendered := config(c.opts, c.machines)
	if len(c.opts.UserConfig) > 0 {
		u, err := parseUser(c.opts.UserFile, c.opts.UserConfig)
		if err == nil {
			err = u.merge(rendered, c.machines)
		}
		if err != nil {
			return &coded.Error{Code: ConfigInvalid, Message: "kind configuration", Err: err}
		}
	}
	var err error
	c.pods, _ = ipv4(rendered.Networking.PodSubnet)
	if c.services, err = ipv4(rendered.Networking.ServiceSubnet); err != nil {
		return &coded.Error{Code: ConfigInvalid, Message: "kind configuration", Err: err}
	}
	c.config, err = encode(rendered)
	return err
}

// Name returns kind's name of the cluster.
func (c *Cluster) Name() string { return ClusterName(c.opts.Name) }

// CreateDuration returns how long kind itself worked, without the steps before and after it, once [Cluster.Create] has returned.
func (c *Cluster) CreateDuration() time.Duration { return c.took }

// Context returns the name of the admin's context in [Cluster.Kubeconfig].
func (c *Cluster) Context() string { return ClusterName(c.opts.Name) }

// Kubeconfig returns the path of the admin's kubeconfig.
func (c *Cluster) Kubeconfig() string { return filepath.Join(c.opts.Dir, "kubeconfig") }

// Client returns a client of the admin.
func (c *Cluster) Client() kubernetes.Interface { return c.client }

// REST returns a copy of the configuration of [Cluster.Client].
func (c *Cluster) REST() *rest.Config { return rest.CopyConfig(c.rest) }

// Server returns the API server's URL on this host.
func (c *Cluster) Server() string { return c.rest.Host }

// Addr returns the API server's address on this host, host:port.
func (c *Cluster) Addr() string {
	u, err := url.Parse(c.rest.Host)
	if err != nil { // it was parsed before
		return c.rest.Host
	}
	return u.Host
}

// Token implements [cluster.Cluster].
func (c *Cluster) Token(path, addr, tokenFile string) error {
	return cluster.WriteToken(c.rest, path, addr, tokenFile)
}

// Container returns the name of a node's container, or "" for an unknown node.
func (c *Cluster) Container(node string) string {
	for _, m := range c.machines {
		if m.Name == node {
			return m.container
		}
	}
	return ""
}

// ByID returns the directory on this host that is mounted at the node's /dev/disk/by-id, or "" for an unknown node or one
// that is no VM.
func (c *Cluster) ByID(node string) string {
	for _, m := range c.machines {
		if m.Name == node {
			return m.ByID
		}
	}
	return ""
}

// ExtraControlPlane returns the node that runs the control plane and is no VM, or "".
func (c *Cluster) ExtraControlPlane() string {
	for _, m := range c.machines {
		if !m.vm {
			return m.Name
		}
	}
	return ""
}

// names returns the names of all nodes.
func (c *Cluster) names() []string {
	var all []string
	for _, m := range c.machines {
		all = append(all, m.Name)
	}
	return all
}

// container is [Cluster.Container] with an error.
func (c *Cluster) container(node string) (string, error) {
	if c.rt == nil {
		return "", fmt.Errorf("cluster %s: was not created", c.Name())
	}
	if name := c.Container(node); name != "" {
		return name, nil
	}
	return "", fmt.Errorf("node %q: cluster %s has no such node", node, c.Name())
}

// Close ends what [Cluster.Expose] started. The cluster continues to run.
func (c *Cluster) Close() error {
	c.mu.Lock()
	relays := c.relays
	c.relays = nil
	c.mu.Unlock()
	var errs []error
	for _, r := range relays {
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}

// config renders kind's configuration, without the user's.
func config(o Options, all []machine) *v1alpha4.Cluster {
	patches, _ := clusterPatches(o.Speed, o.Knobs) // the options are checked
	for i := range patches {
		patches[i] = forKubeadm(patches[i], o.kubernetes())
	}
	c := &v1alpha4.Cluster{
		TypeMeta:             v1alpha4.TypeMeta{Kind: "Cluster", APIVersion: "kind.x-k8s.io/v1alpha4"},
		Name:                 ClusterName(o.Name),
		KubeadmConfigPatches: patches,
		Networking: v1alpha4.Networking{
			// kind's defaults, set explicitly: certificates have addresses from the Services' range.
			APIServerAddress: "127.0.0.1", APIServerPort: int32(o.Port),
			PodSubnet: "10.244.0.0/16", ServiceSubnet: "10.96.0.0/16",
		},
	}
	o.components(c)
	if o.firmware() {
		c.ContainerdConfigPatches = append(c.ContainerdConfigPatches, firmwarePatch)
	}
	if o.Mirrors {
		c.ContainerdConfigPatches = append(c.ContainerdConfigPatches, mirrorPatch)
	}
	for _, m := range all {
		n := v1alpha4.Node{Role: v1alpha4.NodeRole(m.role), Image: o.Image, ExtraMounts: []v1alpha4.Mount{
			{HostPath: ownerFile(o.Dir), ContainerPath: ownerPath, Readonly: true},
		}}
		if m.vm {
			n.ExtraMounts = append(n.ExtraMounts,
				v1alpha4.Mount{HostPath: filepath.Join(m.dir, "product_uuid"), ContainerPath: uuidPath, Readonly: true},
				v1alpha4.Mount{HostPath: filepath.Join(m.dir, "product_serial"), ContainerPath: serialPath, Readonly: true},
				v1alpha4.Mount{HostPath: unitFile(o.Dir), ContainerPath: unitPath, Readonly: true},
				v1alpha4.Mount{HostPath: m.ByID, ContainerPath: byIDPath},
			)
			if o.Volumes != "" {
				n.ExtraMounts = append(n.ExtraMounts, v1alpha4.Mount{HostPath: o.Volumes, ContainerPath: o.Volumes})
			}
			n.KubeadmConfigPatches = []string{forKubeadm(nodePatch(m, o.Host), o.kubernetes())}
		}
		// All nodes: each node's containerd may be asked.
		n.ExtraMounts = append(n.ExtraMounts, o.firmwareMounts()...)
		if !m.vm {
			n.Labels = map[string]string{cluster.NoVM: ""}
		}
		c.Nodes = append(c.Nodes, n)
	}
	return c
}

// components sets the user's feature gates and APIs.
func (o Options) components(c *v1alpha4.Cluster) {
	if len(o.Knobs.FeatureGates) > 0 && c.FeatureGates == nil {
		c.FeatureGates = map[string]bool{}
	}
	maps.Copy(c.FeatureGates, o.Knobs.FeatureGates)
	for _, api := range o.Knobs.RuntimeConfig {
		name, value, _ := strings.Cut(api, "=")
		if c.RuntimeConfig == nil {
			c.RuntimeConfig = map[string]string{}
		}
		c.RuntimeConfig[name] = value
	}
}

func encode(c *v1alpha4.Cluster) ([]byte, error) {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	err := e.Encode(c)
	if err = errors.Join(err, e.Close()); err != nil {
		return nil, fmt.Errorf("kind configuration: %w", err)
	}
	return b.Bytes(), nil
}

// Plan returns what [Cluster.Create] would do: kind's configuration, and one line per step. It calls no runtime and changes
// nothing.
func Plan(opts Options) (config []byte, steps []string, err error) {
	c, err := New(opts)
	if err != nil {
		return nil, nil, err
	}
	return c.Config(), c.steps(), nil
}

// Config returns kind's configuration, with the user's merged into ours.
func (c *Cluster) Config() []byte { return append([]byte(nil), c.config...) }

func (c *Cluster) steps() []string {
	name := ClusterName(c.opts.Name)
	steps := []string{"find Docker, nerdctl or Podman"}
	if c.opts.Runtime != nil {
		steps[0] = "use " + c.opts.Runtime.Name()
	}
	version := ""
	if want := c.opts.kubernetes(); minor(want) != "" {
		version = ", which must be of Kubernetes " + minor(want)
	}
	steps = append(steps,
		fmt.Sprintf("use node image %s%s, and pull it if it is missing", c.opts.Image, version),
		fmt.Sprintf("remove what a killed sandbox left of cluster %s", name),
		fmt.Sprintf("write the nodes' identities to %s", c.opts.Dir),
	)
	for _, m := range c.machines {
		what := "runs the control plane"
		switch {
		case !m.vm:
			what = "runs the control plane and is no VM: the topology has no VM with that role, so the cloud provider does not manage it"
		case m.role == "control-plane":
		case m.ControlPlane:
			what = "is a control-plane node by label and taint; the API server runs on the first one only"
		default:
			what = "is a worker"
		}
		steps = append(steps, fmt.Sprintf("start container %s: node %s %s", m.container, m.Name, what))
	}
	return append(steps,
		"set up Kubernetes in them with kubeadm",
		fmt.Sprintf("write the administrator's kubeconfig to %s", c.Kubeconfig()),
		"wait until "+strings.Join(c.names(), ", ")+" are registered",
	)
}

// Leftover is a container of a cluster with the name of a sandbox's cluster.
type Leftover struct {
	Container string
	// Dir is the Options.Dir of the sandbox that created it, or "".
	Dir string
}

// Leftovers lists the containers, running or not, of the cluster with the name of the sandbox's.
func Leftovers(ctx context.Context, rt *runtime.Runtime, sandbox string) ([]Leftover, error) {
	names, err := rt.List(ctx, clusterLabel, ClusterName(sandbox))
	if err != nil {
		return nil, err
	}
	var all []Leftover
	for _, name := range names {
		known, err := rt.Inspect(ctx, name)
		if coded.Is(err, runtime.ContainerMissing) {
			continue // removed since the listing
		}
		if err != nil {
			return nil, err
		}
		l := Leftover{Container: name}
		if file := known.Mounts[ownerPath]; file != "" {
			l.Dir = filepath.Dir(file)
		}
		all = append(all, l)
	}
	return all, nil
}

// Reap removes what an earlier sandbox of this name left in the runtime: containers, their volumes, and kind's network if
// a sandbox created it and no container uses it. dir was its Options.Dir. Containers of other owners stay. It returns the
// names of what it removed; nothing to remove is no error. `down` uses it for a sandbox that was killed.
func Reap(ctx context.Context, rt *runtime.Runtime, sandbox, dir string) (removed []string, err error) {
	left, err := Leftovers(ctx, rt, sandbox)
	if err != nil {
		return nil, err
	}
	removed = ours(left, dir)
	if err := rt.Remove(ctx, removed...); err != nil {
		return nil, fmt.Errorf("cluster %s: %w", ClusterName(sandbox), err)
	}
	helpers, err := rt.List(ctx, helperLabel, ClusterName(sandbox))
	if err == nil {
		err = rt.Remove(ctx, helpers...)
	}
	return removed, errors.Join(err, removeNetwork(ctx, rt))
}

// ours returns the containers of the sandbox in a directory.
func ours(left []Leftover, dir string) (names []string) {
	for _, l := range left {
		if same(l.Dir, dir) {
			names = append(names, l.Container)
		}
	}
	return names
}

// claim removes what a killed sandbox in our directory left, and returns an error for a cluster of another owner.
func (c *Cluster) claim(ctx context.Context, say sayf) error {
	left, err := Leftovers(ctx, c.rt, c.opts.Name)
	if err != nil {
		return err
	}
	for _, l := range left {
		if same(l.Dir, c.opts.Dir) {
			continue
		}
		owner, try := "which was not created by a sandbox", fmt.Sprintf("kind delete cluster --name %s, if it is not needed\nor give the sandbox another name: --name", c.Name())
		if l.Dir != "" {
			owner = "which was created by the sandbox in " + l.Dir
			try = "stop that sandbox, with the same state directory\nor give this one another name: --name"
		}
		return coded.New(NameTaken, try, nil, "cluster %s exists already, %s (container %s)", c.Name(), owner, l.Container)
	}
	if len(left) == 0 {
		return nil
	}
	removed, err := Reap(ctx, c.rt, c.opts.Name, c.opts.Dir)
	if len(removed) > 0 {
		say("removed what an earlier run left: %s", strings.Join(removed, ", "))
	}
	return err
}

// same reports whether two paths are the same directory. Docker Desktop prefixes the paths of the host.
func same(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	a = strings.TrimPrefix(a, "/host_mnt")
	if resolved, err := filepath.EvalSymlinks(a); err == nil {
		a = resolved
	}
	if resolved, err := filepath.EvalSymlinks(b); err == nil {
		b = resolved
	}
	return filepath.Clean(a) == filepath.Clean(b)
}

// DeleteTime is the time that callers give [Cluster.Delete]: enough on a busy host.
const DeleteTime = 90 * time.Second

// GiveUpTime limits how long [Cluster.Create] continues after its context has ended: DeleteTime until kind gives up, and
// DeleteTime for the removal.
const GiveUpTime = 2 * DeleteTime

// Delete removes the cluster: its containers and volumes, what Expose started, kind's network if no other container uses
// it, and the files in Options.Dir. It is idempotent, also for a cluster that was never created.
func (c *Cluster) Delete(ctx context.Context) error {
	errs := []error{c.Close()}
	if c.rt != nil {
		_, err := Reap(ctx, c.rt, c.opts.Name, c.opts.Dir)
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return err // the files identify the remaining containers
	}
	return c.removeFiles()
}

// Codes of a [coded.Error], beside those of package runtime.
const (
	ConfigInvalid = "kind-config-invalid" // the user's kind configuration cannot be merged
	NameTaken     = "cluster-name-taken"  // by a cluster of another owner
	ImageUnfit    = "image-unfit"         // no node image, or one of another Kubernetes
	RuntimeRemote = "runtime-remote"      // its daemon is on another host
	CreateFailed  = "cluster-failed"      // kind or kubeadm gave up; the message has their reasons
	NodeGone      = "node-gone"           // its container was removed
	Unreachable   = relay.Unreachable     // the nodes cannot connect to programs of this host
	NoCluster     = "no-kind-cluster"     // of that name
	PortTaken     = "port-in-use"
	NoLoopDevices = "no-loop-devices" // files cannot be disks here
)

func isNotEmpty(err error) bool {
	var p *fs.PathError
	return errors.As(err, &p) && (errors.Is(p.Err, syscall.ENOTEMPTY) || errors.Is(p.Err, syscall.EEXIST))
}
