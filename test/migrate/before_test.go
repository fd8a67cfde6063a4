package migrate

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// path is the disk of the old volume, orders what is on it.
const (
	path   = "[dc-ds] kubevols/shop.vmdk"
	orders = "4711: two chairs\n4712: a table\n"
)

// configure has the cloud controller manager, and the CSI driver, run by a vsphere.conf of the in-tree form. It returns the
// file and the password in it.
func (w *world) configure() (file, password string) {
	w.Helper()
	secret := object[corev1.Secret](w, "-n", "kube-system", "get", "secret", "vsphere-cloud-secret")
	server, user := "", ""
	for key, value := range secret.Data {
		if s, ok := strings.CutSuffix(key, ".username"); ok {
			server, user = s, string(value)
		}
		if strings.HasSuffix(key, ".password") {
			password = string(value)
		}
	}
	conf, err := os.ReadFile("testdata/vsphere.conf")
	if err != nil {
		w.Fatal(err)
	}
	old := strings.NewReplacer("USER", user, "PASSWORD", password, "SERVER", server, "PORT", w.port(),
		"CAFILE", filepath.Join(w.dir, "pki", "vcenter-ca.crt")).Replace(string(conf))
	file = filepath.Join(w.state, "vsphere.conf")
	if err := os.WriteFile(file, []byte(old), 0o600); err != nil {
		w.Fatal(err)
	}
	patch, err := json.Marshal(map[string]any{"data": map[string]string{"vsphere.conf": old}})
	if err != nil {
		w.Fatal(err)
	}
	begin := w.last()
	w.kubectl("-n", "kube-system", "patch", "configmap", "vsphere-cloud-config", "--type=merge", "-p", string(patch))
	w.happened(begin, "ccm.config-needs-restart") // the vCenter goes by another name in it
	w.happened(begin, "ccm.healthy")
	return file, password
}

// port is the vCenter's, by the configuration that the sandbox has written.
func (w *world) port() string {
	w.Helper()
	conf := object[corev1.ConfigMap](w, "-n", "kube-system", "get", "configmap", "vsphere-cloud-config").Data["vsphere.conf"]
	for line := range strings.Lines(conf) {
		if port, ok := strings.CutPrefix(strings.TrimSpace(line), "port: "); ok {
			return port
		}
	}
	w.Fatalf("no port in\n%s", conf)
	return ""
}

// disk makes the disk as the in-tree provider did, on a VM that its pod wrote to it on, and takes it off there: the node
// was drained.
func (w *world) disk() {
	w.Helper()
	w.run("govc", "datastore.mkdir", "kubevols")
	w.run("govc", "datastore.disk.create", "-size", "1G", "kubevols/shop.vmdk")
	w.run("govc", "vm.disk.attach", "-vm", "worker-1", "-link=false", "-disk", "kubevols/shop.vmdk")
	w.await("the guest sees its disk", func() string {
		out, err := w.try("volume", "path", path)
		if err != nil {
			return err.Error()
		}
		if err := os.WriteFile(filepath.Join(strings.TrimSpace(out), "orders"), []byte(orders), 0o600); err != nil {
			w.Fatal(err)
		}
		return ""
	})
	device := ""
	for line := range strings.Lines(w.run("govc", "device.ls", "-vm", "worker-1")) {
		if f := strings.Fields(line); len(f) > 1 && strings.HasPrefix(f[0], "disk-") {
			device = f[0] // the last is the newest
		}
	}
	w.run("govc", "device.remove", "-vm", "worker-1", "-keep", device)
	if out, err := w.try("volume", "path", path); err == nil {
		w.Errorf("a disk on no VM can be seen: %s", out)
	}
}

// read is what a pod with the claim sees.
func (w *world) read(claim, file string) string {
	w.Helper()
	b, err := os.ReadFile(filepath.Join(strings.TrimSpace(w.run("volume", "path", claim)), file))
	if err != nil {
		w.Error(err)
	}
	return string(b)
}

func (w *world) write(claim, file, text string) {
	w.Helper()
	if err := os.WriteFile(filepath.Join(strings.TrimSpace(w.run("volume", "path", claim)), file), []byte(text), 0o600); err != nil {
		w.Error(err)
	}
}
