package embedded

import (
	"os"
	"path/filepath"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Guest implements [ground.Ground]: a hollow kubelet in a process for each VM, or one process for all light nodes.
func (g *Ground) Guest(n ground.Node) node.Guest {
	if n.IsLight() {
		return n.LightGuest(ground.LightOptions{})
	}
	vm := n.VM()
	options := node.Options{
		Spec:   func(m node.VM) (child.Spec, error) { return g.spec(n, vm.Name, m) },
		Notify: n.Notify,
	}
	if g.CSI {
		options.Links = &node.Links{
			Dir: node.ByID(n.Dir()),
			Disk: func(volume string) string {
				dir, _ := g.Host.VolumeDir(vm.VCenter, volume)
				return dir
			},
			Failed: func(err error) { g.Logger.Error("links to disks", "vm", vm.Name, "err", err) },
		}
	}
	return node.New(options)
}

// spec writes the configuration of a VM's kubelet for one boot.
func (g *Ground) spec(n ground.Node, vm string, m node.VM) (child.Spec, error) {
	name, err := ground.NodeName(vm, m)
	if err != nil {
		return child.Spec{Name: "node/" + vm}, err
	}
	component, role := n.Boot(name)
	spec := child.Spec{Name: component}
	dir := n.Dir()
	if err := os.MkdirAll(filepath.Join(dir, "kubelet"), 0o700); err != nil {
		return spec, err
	}
	// The kubelet creates sockets there, and the kernel limits the length of their paths.
	root, err := g.Instance.ShortPath(node.LongestSocket, "nodes", filepath.Base(dir), "kubelet")
	if err != nil {
		return spec, err
	}
	image, kernel := node.OS(m.GuestID)
	cfg := node.Config{
		Name:         name,
		RootDir:      root,
		Kubeconfig:   filepath.Join(dir, "kubeconfig"),
		SystemUUID:   m.UUID,
		CPUs:         m.CPUs,
		MemoryBytes:  m.MemoryBytes,
		OSImage:      image,
		Kernel:       kernel,
		Speed:        g.Speed,
		ControlPlane: role == topology.RoleControlPlane,
	}
	if g.CSI {
		cfg.CSI = &node.CSIConfig{ByIDDir: node.ByID(dir), Kubeconfig: filepath.Join(dir, "csi.kubeconfig"), Boot: m.BootTime.UTC().Format(time.RFC3339Nano)}
	}
	addr, err := g.Host.Proxy(n.Proxy())
	if err != nil {
		return spec, err
	}
	if err := g.cluster.Via(addr).Node(cfg.Kubeconfig, name); err != nil {
		return spec, err
	}
	if cfg.CSI != nil {
		if err := g.cluster.Token(cfg.CSI.Kubeconfig, addr, g.Host.DriverToken()); err != nil {
			return spec, err
		}
	}
	path := filepath.Join(dir, "config.json")
	if err := cfg.Write(path); err != nil {
		return spec, err
	}
	spec.Args = []string{"node", "--config=" + path}
	return g.Host.Child(spec), nil
}
