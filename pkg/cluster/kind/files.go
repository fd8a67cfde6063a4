package kind

import (
	"fmt"
	"os"
	"path/filepath"
)

// Where in a node what is mounted from Options.Dir appears. kind's own nodes and ours show the UUID as the machine's;
// nothing shows the serial number but the unit's drop-in below.
const (
	uuidPath   = "/kind/product_uuid"
	serialPath = "/kind/product_serial"
	ownerPath  = "/kind/vsphere-sandbox"
	byIDPath   = "/dev/disk/by-id"
	unitPath   = "/etc/systemd/system/kubelet.service.d/20-vsphere-sandbox.conf"
)

// serialUnit has every start of the kubelet, and so of the node, show the VM's serial number as the machine's, where the
// machine has a place for one. kind shows the UUID by itself.
const serialUnit = `[Service]
ExecStartPre=-/bin/sh -c 'f=/sys/devices/virtual/dmi/id/product_serial; [ ! -e $f ] || cmp -s ` + serialPath + ` $f || mount -o ro,bind ` + serialPath + ` $f'
`

// ownerFile says whose the cluster is: that it is mounted in a container makes the container ours.
func ownerFile(dir string) string { return filepath.Join(dir, "sandbox") }

func unitFile(dir string) string { return filepath.Join(dir, "kubelet-serial.conf") }

// writeFiles makes what the nodes mount.
func (c *Cluster) writeFiles() error {
	if info, err := os.Stat(c.opts.Dir); err != nil {
		return fmt.Errorf("cluster: %w", err)
	} else if !info.IsDir() {
		return fmt.Errorf("cluster: %s: is no directory", c.opts.Dir)
	}
	if c.opts.Volumes != "" { // or the container runtime makes it, as root
		if err := os.MkdirAll(c.opts.Volumes, 0o700); err != nil {
			return fmt.Errorf("cluster: %w", err)
		}
	}
	// Mounted read-only; programs in the nodes run as root, so its owner alone may read it.
	files := map[string]string{
		ownerFile(c.opts.Dir): c.opts.Name + "\n",
		unitFile(c.opts.Dir):  serialUnit,
	}
	for _, m := range c.machines {
		if !m.vm {
			continue
		}
		for _, dir := range []string{m.dir, m.ByID} {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return fmt.Errorf("node %q: %w", m.Name, err)
			}
		}
		files[filepath.Join(m.dir, "product_uuid")] = m.UUID + "\n"
		files[filepath.Join(m.dir, "product_serial")] = m.Serial + "\n"
	}
	for path, text := range files {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return fmt.Errorf("cluster: %w", err)
		}
	}
	if err := c.opts.writeFirmware(); err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	return nil
}

// Identify has a node show another VM's UUID, and the serial number that goes with it, as its machine's. It sees that when it is
// started the next time.
func (c *Cluster) Identify(node, uuid string) error {
	serial, err := Serial(uuid)
	if err != nil {
		return fmt.Errorf("node %q: %w", node, err)
	}
	for _, m := range c.machines {
		if m.Name != node || !m.vm {
			continue
		}
		for name, text := range map[string]string{"product_uuid": uuid, "product_serial": serial} {
			// In place: what is mounted in the node is this very file.
			if err := os.WriteFile(filepath.Join(m.dir, name), []byte(text+"\n"), 0o600); err != nil {
				return fmt.Errorf("node %q: %w", node, err)
			}
		}
		return nil
	}
	return fmt.Errorf("node %q: no VM of cluster %s is that node", node, c.Name())
}

// removeFiles takes back what writeFiles and Create have made, but not what others have put beside it.
func (c *Cluster) removeFiles() error {
	for _, m := range c.machines {
		if m.vm {
			if err := os.RemoveAll(m.dir); err != nil {
				return err
			}
		}
	}
	for _, path := range []string{filepath.Join(c.opts.Dir, "nodes"), ownerFile(c.opts.Dir), unitFile(c.opts.Dir), specFile(c.opts.Dir), hookFile(c.opts.Dir), c.Kubeconfig()} {
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) && !isNotEmpty(err) {
			return err
		}
	}
	return nil
}
