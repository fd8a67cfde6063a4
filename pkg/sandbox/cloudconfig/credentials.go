package cloudconfig

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/retry"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/deploy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

// Driver is a CSI driver that reads its own copy of the credentials: as pods, with other hosts in the keys.
type Driver struct {
	// Deploy applies the driver again, configured for the vCenters of now. It is nil where no pods run it.
	Deploy func(context.Context) error
	// Configure writes the credentials of a driver that reads no Secret of the sandbox's. It is nil for the built-in driver.
	Configure func(ctx context.Context, secret map[string][]byte) error
	// Host returns the host by which pods reach a vCenter, "" before that is known. It is nil where no pods run the driver.
	Host func(vcenter string) string
}

// WatchCredentials logs changes of the Secret, which are causes of what the cloud controller manager does, and copies them to
// the driver.
func (c *Config) WatchCredentials() error {
	factory := Informers(c.Client(), c.Namespace, Secret)
	_, err := factory.Core().V1().Secrets().Informer().AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(o any, initial bool) {
			if !initial {
				c.credentialsChanged(nil, o.(*corev1.Secret).Data)
				c.copyLater()
			}
		},
		UpdateFunc: func(old, o any) {
			before, after := old.(*corev1.Secret).Data, o.(*corev1.Secret).Data
			c.credentialsChanged(before, after)
			if !maps.EqualFunc(before, after, bytes.Equal) {
				c.copyLater()
			}
		},
		DeleteFunc: func(any) {
			c.credentialsEvent(event.Warning, "deleted")
			c.copyLater()
		},
	})
	if err != nil {
		return err
	}
	c.run(factory)
	return nil
}

// copyLater copies the credentials without blocking the informer.
func (c *Config) copyLater() {
	c.Background.Run(group, func(ctx context.Context) {
		if err := c.CopyCredentials(ctx); err != nil && ctx.Err() == nil {
			c.Logger.Error("credentials", "err", err)
		}
	})
}

// credentialsChanged logs which keys of the Secret were added, changed or removed, and never their values.
func (c *Config) credentialsChanged(before, after map[string][]byte) {
	var changes []string
	for _, key := range slices.Sorted(maps.Keys(after)) {
		switch old, existed := before[key]; {
		case !existed:
			changes = append(changes, key+" added")
		case !bytes.Equal(old, after[key]):
			changes = append(changes, key+" changed")
		}
	}
	for _, key := range slices.Sorted(maps.Keys(before)) {
		if _, exists := after[key]; !exists {
			changes = append(changes, key+" removed")
		}
	}
	if len(changes) > 0 {
		c.credentialsEvent(event.Info, strings.Join(changes, ", "))
	}
}

func (c *Config) credentialsEvent(level event.Level, message string) {
	c.event(event.PlaneKubernetes, level, "ccm.credentials-changed", "Secret", Secret, message)
}

// CopyCredentials copies the Secret of the cloud controller manager to the driver: a user who changes a password, or breaks the
// Secret, does it for both. A deleted Secret empties the copy.
func (c *Config) CopyCredentials(ctx context.Context) error {
	if c.Driver == nil {
		return nil
	}
	c.copying.Lock() // the last that is read is the last that is written
	defer c.copying.Unlock()
	var data map[string][]byte
	core := c.Client().CoreV1()
	switch from, err := core.Secrets(c.Namespace).Get(ctx, Secret, metav1.GetOptions{}); {
	case err == nil:
		data = c.forPods(from.Data)
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("credentials for the CSI driver: %w", err)
	}
	if c.Driver.Configure != nil {
		return c.Driver.Configure(ctx, data)
	}
	namespace, name := deploy.CSICredentials()
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		to, err := core.Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil // the driver is not deployed yet: it will be with the credentials of then
		}
		if err != nil || maps.EqualFunc(to.Data, data, bytes.Equal) {
			return err
		}
		to.Data = data
		_, err = core.Secrets(namespace).Update(ctx, to, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("credentials for the CSI driver: %w", err)
	}
	return nil
}

// forPods returns a copy of a Secret's data in which the keys have the hosts by which pods reach the vCenters.
func (c *Config) forPods(data map[string][]byte) map[string][]byte {
	if c.Driver.Host == nil {
		return data
	}
	hosts := map[string]string{}
	for _, vc := range c.VCenters() {
		if host := c.Driver.Host(vc.Name()); host != "" {
			hosts[c.Host(vc.Name())] = host
		}
	}
	all := map[string][]byte{}
	for key, value := range data {
		dot := strings.LastIndexByte(key, '.')
		if dot > 0 && hosts[key[:dot]] != "" {
			key = hosts[key[:dot]] + key[dot:]
		}
		all[key] = value
	}
	return all
}
