package upstream

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
)

// startCPI runs the upstream release with a cluster-admin's kubeconfig and a cloud config in its own YAML. It returns
// the path of its log.
func (w *world) startCPI(path string, dcs []string) (log string) {
	w.t.Helper()
	conf := filepath.Join(w.dir, "vsphere.conf")
	text := fmt.Sprintf(`global:
  user: %q
  password: %q
  insecureFlag: false
  caFile: %q
vcenter:
  vc:
    server: %q
    port: %d
    datacenters: [%s]
labels:
  region: k8s-region
  zone: k8s-zone
`, w.vcenter.User(), w.vcenter.Password(), w.caFile, w.vcenter.Host(), w.vcenter.Port(), strings.Join(dcs, ", "))
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	log = filepath.Join(w.dir, "cpi.log")
	cpi := child.Start(child.Spec{
		Name: "cpi",
		Path: path,
		Args: []string{
			"--cloud-provider=vsphere", "--cloud-config=" + conf, "--kubeconfig=" + w.cluster.Kubeconfig(),
			"--leader-elect=false", "--bind-address=127.0.0.1", "--secure-port=0", "--v=2",
			"--concurrent-node-syncs=4",
		},
		LogPath: log,
	}, func(c child.Change) { w.t.Logf("cpi: %s", c.State) })
	w.t.Cleanup(func() {
		if err := cpi.Stop(context.Background()); err != nil {
			w.t.Error(err)
		}
	})
	return log
}

// complaint is one error in a klog log.
type complaint struct {
	at   time.Time
	text string
}

// complaints reads the errors and panics of a klog log ("E1121 14:05:06.123456 …").
func complaints(path string) ([]complaint, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []complaint
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "fatal error:") {
			all = append(all, complaint{time.Now(), line})
			continue
		}
		if len(line) < 21 || (line[0] != 'E' && line[0] != 'F') {
			continue
		}
		at, err := time.ParseInLocation("20060102 15:04:05.000000", time.Now().Format("2006")+line[1:21], time.Local)
		if err != nil {
			continue
		}
		all = append(all, complaint{at, line})
	}
	return all, lines.Err()
}
