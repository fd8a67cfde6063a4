package privileges

import (
	"fmt"
	"os"
	"path/filepath"
)

// conf is a vsphere.conf of an account.
func (w *world) conf(user, password string) string {
	v, _ := w.lab.VCenter("vc")
	text := fmt.Sprintf("global: {caFile: %s}\nlabels: {region: k8s-region, zone: k8s-zone}\nvcenter: {vc: {server: %s, port: %d, user: %q, password: %s}}\n",
		w.lab.CAFile, v.Host(), v.Port(), user, password)
	file := filepath.Join(w.t.TempDir(), "vsphere.conf")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return file
}
