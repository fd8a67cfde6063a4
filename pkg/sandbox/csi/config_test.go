package csi

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/program"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

// A driver of another project finds a new password in its configuration, in the layout of a mounted Secret: upstream's reads the file
// again when the folder of the old version is removed. A Secret that is gone changes nothing. Our driver reads another file.
func TestReconfigure(t *testing.T) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "logins"}, Data: map[string][]byte{
		"192.0.2.1.username": []byte("me"), "192.0.2.1.password": []byte("old"),
	}}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: "id"}}
	client := fake.NewClientset(secret, namespace)
	d := newDriver(t)
	d.SecretNamespace, d.SecretName = secret.Namespace, secret.Name
	d.Cluster = func() cluster.Cluster { return clusterOf{client: client} }
	d.Host = func(string) string { return "192.0.2.1" }
	d.Conf = func(c sim.CSIConfig) ([]byte, error) {
		if c.Login == nil {
			return []byte(c.ClusterID + " as the vCenter says"), nil
		}
		user, password := c.Login("vc")
		return []byte(c.ClusterID + " " + user + " " + password), nil
	}
	file := d.dir("mounted", "csi-vsphere.conf")
	read := func() string {
		t.Helper()
		if err := d.Reconfigure(t.Context()); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(file)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return string(text)
	}
	if got := read(); got != "" {
		t.Errorf("for ours: %q", got)
	}
	d.running = Options{Program: program.Program{Path: "/bin/theirs"}}
	if got := read(); got != "id me old" {
		t.Errorf("%q", got)
	}
	first, err := os.Readlink(filepath.Join(filepath.Dir(file), "..data"))
	if err != nil {
		t.Fatal(err)
	}
	secret.Data["192.0.2.1.password"] = []byte("new")
	if _, err := client.CoreV1().Secrets(secret.Namespace).Update(context.Background(), secret, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := read(); got != "id me new" {
		t.Errorf("%q", got)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(file), first)); !os.IsNotExist(err) {
		t.Errorf("the folder of the old version: %v", err)
	}
	if err := client.CoreV1().Secrets(secret.Namespace).Delete(context.Background(), secret.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := read(); got != "id me new" {
		t.Errorf("without the Secret: %q", got)
	}
}
