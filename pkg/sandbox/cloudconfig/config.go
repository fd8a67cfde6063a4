// Package cloudconfig keeps what a cloud controller manager and a CSI driver are configured with: vsphere.conf in a ConfigMap,
// the credentials in a Secret, and the file that a process reads in place of a mounted ConfigMap.
//
// Floor 3.
package cloudconfig

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/deploy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/background"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/causality"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

// Names of upstream's release manifests.
const (
	// Namespace is that of the ConfigMap and of the Secret where nothing else is configured.
	Namespace = metav1.NamespaceSystem
	ConfigMap = "vsphere-cloud-config"
	Key       = "vsphere.conf"
	Secret    = "vsphere-cloud-secret"
)

// group is the background group that watches the ConfigMap and the Secret.
const group = "cloud config"

// Config writes the configuration and the credentials of the cloud controller manager and keeps them up to date. Set its
// fields before [Config.Write].
type Config struct {
	Log        *event.Log
	Logger     *slog.Logger
	Causes     *causality.Finder
	Background *background.Groups
	Client     func() kubernetes.Interface
	VCenters   func() vcenters.List
	// Render returns vsphere.conf for the place where it is read.
	Render func(sim.CloudConfig) ([]byte, error)

	// Namespace has the ConfigMap and the Secret, both with Labels.
	Namespace string
	Labels    map[string]string
	// File is the path at which a process reads vsphere.conf, CAFile that of the certificates that vsphere.conf names.
	File, CAFile string
	// Changed is called before the content of the file changes. It may be nil.
	Changed func()

	// Provided: the user writes the ConfigMap and the Secret. The ConfigMap is only copied to the file.
	Provided bool
	// Pods read the configuration; nil where processes read it.
	Pods Pods
	// Driver is a CSI driver that has its own copy of the credentials; nil for none.
	Driver *Driver

	mu      sync.Mutex // held while the configuration is written
	written string
	copying sync.Mutex // held while the credentials are copied to the driver
}

// Pods writes the configuration of a cloud controller manager that runs as pods. A [pods.Pods] implements it.
type Pods interface {
	// Config returns all that the pods are configured with.
	Config() (deploy.Config, error)
	Configure(context.Context, deploy.Config) error
	// Host returns the host by which pods reach a vCenter, "" before that is known.
	Host(vcenter string) string
}

// target is where vsphere.conf is written.
type target interface {
	// render returns vsphere.conf for the target. It is written only when the result changes.
	render() ([]byte, error)
	create(ctx context.Context, conf []byte) error
	update(ctx context.Context, conf []byte) error
}

func (c *Config) target() target {
	switch {
	case c.Provided:
		return provided{c}
	case c.Pods != nil:
		return pods{c}
	}
	return objects{c}
}

// Write creates the ConfigMap and the Secret, as a user does, and copies the ConfigMap to the file, as a kubelet does.
func (c *Config) Write(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.target()
	conf, err := t.render()
	if err != nil {
		return err
	}
	c.written = string(conf)
	return t.create(ctx, conf)
}

// Update writes vsphere.conf again if other vCenters or datacenters have changed it. Edits that a user made to it are lost
// then. Otherwise they stay.
func (c *Config) Update(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.target()
	conf, err := t.render()
	if err != nil || string(conf) == c.written {
		return err
	}
	if c.Driver != nil {
		if c.Driver.Deploy != nil {
			if err := c.Driver.Deploy(ctx); err != nil {
				return fmt.Errorf("cloud config: %w", err)
			}
		}
		if err := c.CopyCredentials(ctx); err != nil {
			return err
		}
	}
	if err := t.update(ctx, conf); err != nil {
		return fmt.Errorf("cloud config: %w", err)
	}
	c.written = string(conf)
	return nil
}

// Stop ends what [Config.Write] has started.
func (c *Config) Stop(ctx context.Context) error { return c.Background.End(ctx, group) }

// RenderFile returns vsphere.conf for a process on this host.
func (c *Config) RenderFile() ([]byte, error) {
	return c.Render(sim.CloudConfig{CAFile: c.CAFile, SecretName: Secret, SecretNamespace: c.Namespace})
}

// Host returns the host by which the cloud controller manager reaches a vCenter, "" for an unknown vCenter. The keys of the
// Secret begin with it.
func (c *Config) Host(vcenter string) string {
	if c.Pods != nil {
		if host := c.Pods.Host(vcenter); host != "" {
			return host
		}
	}
	if vc := c.VCenters().Find(vcenter); vc != nil {
		return vc.Host()
	}
	return ""
}

// Informers returns informers of the objects of one name in a namespace.
func Informers(client kubernetes.Interface, namespace, name string) informers.SharedInformerFactory {
	return informers.NewSharedInformerFactoryWithOptions(client, 0,
		informers.WithNamespace(namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector("metadata.name", name).String()
		}))
}

// run starts the informers of a factory, which end with [Config.Stop].
func (c *Config) run(factory informers.SharedInformerFactory) {
	c.Background.Run(group, func(ctx context.Context) {
		factory.Start(ctx.Done())
		<-ctx.Done()
		factory.Shutdown()
	})
}

// provided is a configuration that the user writes.
type provided struct{ *Config }

func (provided) render() ([]byte, error) { return nil, nil }

func (p provided) create(ctx context.Context, _ []byte) error { return p.copyToFile(ctx) }

func (provided) update(context.Context, []byte) error { return nil }

// objects is a ConfigMap and a Secret for processes on this host.
type objects struct{ *Config }

func (o objects) render() ([]byte, error) { return o.RenderFile() }

func (o objects) create(ctx context.Context, conf []byte) error {
	if err := distinctHosts(o.VCenters()); err != nil {
		return err
	}
	if kept, err := o.keep(ctx); err != nil {
		return err
	} else if !kept {
		if err := o.replace(ctx, conf); err != nil {
			return err
		}
	}
	if err := o.WatchCredentials(); err != nil {
		return err
	}
	return o.copyToFile(ctx)
}

// keep reports whether the cluster has a Secret for all vCenters at their addresses: that of a snapshot, which the user may have
// changed. It stays, with its ConfigMap.
func (o objects) keep(ctx context.Context) (bool, error) {
	secret, err := o.Client().CoreV1().Secrets(o.Namespace).Get(ctx, Secret, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for _, vc := range o.VCenters() {
		if _, has := secret.Data[vc.Host()+".username"]; !has {
			return false, nil
		}
	}
	return true, nil
}

// replace creates the ConfigMap and the Secret, or makes existing ones new: the vCenters of a snapshot had other addresses.
func (o objects) replace(ctx context.Context, conf []byte) error {
	core := o.Client().CoreV1()
	config := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: ConfigMap, Labels: o.Labels},
		Data:       map[string]string{Key: string(conf)},
	}
	_, err := core.ConfigMaps(o.Namespace).Create(ctx, config, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = core.ConfigMaps(o.Namespace).Update(ctx, config, metav1.UpdateOptions{})
	}
	if err != nil {
		return err
	}
	credentials := map[string]string{}
	for _, vc := range o.VCenters() {
		credentials[vc.Host()+".username"] = vc.User()
		credentials[vc.Host()+".password"] = vc.Password()
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: Secret, Labels: o.Labels}, StringData: credentials}
	_, err = core.Secrets(o.Namespace).Create(ctx, secret, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = core.Secrets(o.Namespace).Update(ctx, secret, metav1.UpdateOptions{})
	}
	return err
}

func (o objects) update(ctx context.Context, conf []byte) error {
	maps := o.Client().CoreV1().ConfigMaps(o.Namespace)
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		m, err := maps.Get(ctx, ConfigMap, metav1.GetOptions{})
		if err != nil {
			return err
		}
		m.Data = map[string]string{Key: string(conf)}
		_, err = maps.Update(ctx, m, metav1.UpdateOptions{})
		return err
	})
}

// distinctHosts refuses vCenters that differ only by port, as they do where the system has one loopback address: the keys of
// the Secret name a vCenter by its host, in upstream's provider too.
func distinctHosts(all vcenters.List) error {
	owner := map[string]string{}
	for _, vc := range all {
		if other, taken := owner[vc.Host()]; taken {
			return fmt.Errorf("vCenters %q and %q share the address %s, and a cloud config identifies vCenters by address: "+
				"give this machine more loopback addresses (macOS: sudo ifconfig lo0 alias 127.0.0.11 up, and so on), or use a topology with one vCenter",
				other, vc.Name(), vc.Host())
		}
		owner[vc.Host()] = vc.Name()
	}
	return nil
}

// pods is the configuration of pods. It is written for the first time when they are deployed.
type pods struct{ *Config }

// render leaves the paths out: each manifest has other ones.
func (p pods) render() ([]byte, error) {
	config, err := p.Pods.Config()
	if err != nil {
		return nil, err
	}
	return config.Conf(deploy.ConfigLocation{SecretName: Secret, SecretNamespace: p.Namespace})
}

func (pods) create(context.Context, []byte) error { return nil }

// update keeps the content of the Secrets, which the user may have changed.
func (p pods) update(ctx context.Context, _ []byte) error {
	config, err := p.Pods.Config()
	if err != nil {
		return err
	}
	config.NSX = nil
	switch secret, err := p.Client().CoreV1().Secrets(p.Namespace).Get(ctx, Secret, metav1.GetOptions{}); {
	case err == nil:
		config.Secret = secret.Data
	case !apierrors.IsNotFound(err):
		return err
	}
	return p.Pods.Configure(ctx, config)
}
