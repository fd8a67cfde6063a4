package csi

import (
	"context"
	"path/filepath"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/atomicfile"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

// configFile is the path of the configuration that a driver reads.
func (d *Driver) configFile(o Options) string {
	switch {
	case o.ConfigFile != "":
		return o.ConfigFile
	case o.Program.Own:
		return d.CloudConfig
	}
	return d.dir("mounted", "csi-vsphere.conf")
}

// Reconfigure writes the configuration again for a driver that reads neither vsphere.conf nor the Secret of the sandbox: the users and
// passwords in the Secret, or the vCenters, are others now. It changes nothing for another driver, nor without the Secret, as for a pod
// that mounts one that is deleted.
func (d *Driver) Reconfigure(ctx context.Context) error {
	o := d.Running()
	if !o.foreign() {
		return nil
	}
	clusterID, err := d.ClusterID(ctx)
	if err != nil {
		return err
	}
	return d.writeConfig(ctx, o, clusterID, true)
}

// writeConfig writes the configuration of a driver that does not read vsphere.conf, with the logins in the Secret of the sandbox.
// Without one it has those of the vCenters, or stays as it is.
func (d *Driver) writeConfig(ctx context.Context, o Options, clusterID string, stays bool) error {
	if o.ConfigFile != "" || o.Program.Own || d.asGuest(o) {
		return nil
	}
	d.writing.Lock() // the last that is read is the last that is written
	defer d.writing.Unlock()
	c := sim.CSIConfig{ClusterID: clusterID, CAFile: d.CAFile}
	switch secret, err := d.Cluster().Client().CoreV1().Secrets(d.SecretNamespace).Get(ctx, d.SecretName, metav1.GetOptions{}); {
	case err == nil:
		c.Login = func(vcenter string) (user, password string) {
			host := d.Host(vcenter)
			return string(secret.Data[host+".username"]), string(secret.Data[host+".password"])
		}
	case !apierrors.IsNotFound(err):
		return err
	case stays:
		return nil
	}
	conf, err := d.Conf(c)
	if err != nil {
		return err
	}
	file := d.configFile(o)
	return atomicfile.WriteMounted(filepath.Dir(file), map[string][]byte{filepath.Base(file): conf})
}
