package ccm

import (
	"context"
	"fmt"
	"os"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/cloudconfig"
)

// adopt prepares a process for the objects that the user has deployed, as a kubelet prepares a pod: it waits for vsphere.conf of
// the user's ConfigMap and writes a token of the user's ServiceAccount. It grants no rights.
func (p *Processes) adopt(ctx context.Context) error {
	p.changing.Lock()
	defer p.changing.Unlock()
	core, namespace := p.Cluster().Client().CoreV1(), p.Place.Namespace
	m, err := core.ConfigMaps(namespace).Get(ctx, cloudconfig.ConfigMap, metav1.GetOptions{})
	switch _, exists := m.Data[cloudconfig.Key]; {
	case apierrors.IsNotFound(err), err == nil && !exists:
		return missing("vsphere-sandbox kubectl -n "+namespace+" create configmap "+cloudconfig.ConfigMap+" --from-file="+cloudconfig.Key,
			"ConfigMap %s/%s with a key %s", namespace, cloudconfig.ConfigMap, cloudconfig.Key)
	case err != nil:
		return err
	}
	_, err = core.ServiceAccounts(namespace).Get(ctx, ServiceAccount, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return missing("vsphere-sandbox kubectl apply -k DIR   # an overlay of manifests/ccm",
			"ServiceAccount %s/%s", namespace, ServiceAccount)
	case err != nil:
		return err
	}
	if err := p.waitConfigFile(ctx); err != nil {
		return err
	}
	if p.adopted { // the token is renewed already, but an account that was created again needs another one
		_, err := p.Tokens.Write(ctx, p.Account())
		return err
	}
	if err := p.Tokens.Project(ctx, p.Account()); err != nil {
		return err
	}
	p.adopted = true
	return nil
}

// waitConfigFile waits until the file exists: the watch may see a ConfigMap some time after its creation.
func (p *Processes) waitConfigFile(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := os.Stat(p.ConfigFile); err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%s of ConfigMap %s/%s: not written to a file: %w", cloudconfig.Key, p.Place.Namespace, cloudconfig.ConfigMap, context.Cause(ctx))
		}
	}
}

// missing returns the error for an object that does not exist, with the command that creates it.
func missing(try, format string, args ...any) *api.Error {
	e := api.Conflict("no cloud controller manager can start: there is no "+format, args...)
	e.Try = try
	return e
}
