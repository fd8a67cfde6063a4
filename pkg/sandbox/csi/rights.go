package csi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/objects"
)

// foreignAccount is the ServiceAccount of a driver that is not built from this project, and the name of its roles. It has the rights
// of that driver's manifest and no others.
const foreignAccount = "vsphere-csi-foreign"

// foreign reports whether the driver is not built from this project.
func (o Options) foreign() bool { return o.Program.Path != "" && !o.Program.Own }

// accountOf returns the ServiceAccount of a process.
func (o Options) accountOf(p process) string {
	if (p.part == partController || p.part == partSyncer) && o.foreign() {
		return foreignAccount
	}
	return p.account
}

// grant creates what only a driver needs that is not built from this project, and deletes that of the driver before it. The caller
// holds changing.
func (d *Driver) grant(ctx context.Context, o Options) error {
	client, err := dynamic.NewForConfig(d.Cluster().REST())
	if err != nil {
		return err
	}
	config := d.Config()
	config.Capacity = d.capacities(o)
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(objects.Driver(config))
	if err != nil {
		return err
	}
	if err := createAny(ctx, client, &unstructured.Unstructured{Object: raw}); err != nil {
		return fmt.Errorf("CSIDriver: %w", err)
	}
	var wanted []*unstructured.Unstructured
	if o.foreign() {
		made, err := o.rights(d.asGuest(o))
		if err != nil {
			return err
		}
		if o.Webhook {
			r, err := o.webhookRights()
			if err != nil {
				return err
			}
			made = append(made, r.granted(webhookAccount)...)
		}
		for _, one := range made {
			raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(one)
			if err != nil {
				return err
			}
			wanted = append(wanted, &unstructured.Unstructured{Object: raw})
		}
	}
	if d.Guest != nil && (d.asGuest(o) || d.asGuest(d.Options)) {
		for _, class := range d.classes(o) {
			raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(class)
			if err != nil {
				return err
			}
			wanted = append(wanted, &unstructured.Unstructured{Object: raw})
		}
	}
	for _, one := range wanted {
		if err := createUnchanged(ctx, client, one); err != nil {
			return fmt.Errorf("%s %s: %w", one.GetKind(), one.GetName(), err)
		}
	}
	old := d.granted
	d.granted = wanted
	var errs []error
	for _, one := range old {
		if one.GetKind() == "ServiceAccount" || slices.ContainsFunc(wanted, func(w *unstructured.Unstructured) bool {
			return w.GetKind() == one.GetKind() && w.GetName() == one.GetName()
		}) {
			continue // without roles, an account has no rights
		}
		gvr, _ := meta.UnsafeGuessKindToResource(one.GroupVersionKind())
		var from dynamic.ResourceInterface = client.Resource(gvr)
		if ns := one.GetNamespace(); ns != "" {
			from = client.Resource(gvr).Namespace(ns)
		}
		if err := from.Delete(ctx, one.GetName(), metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// rights returns the ServiceAccount of such a driver, its roles and the ConfigMap that it reads.
func (o Options) rights(guest bool) ([]runtime.Object, error) {
	r := upstreamRights()
	if o.Manifest != nil {
		var err error
		if r, err = readRights(o.Manifest, controllerContainer); err != nil {
			return nil, err
		}
	}
	if _, its := r.features[guestFeature]; guest && !its {
		r = upstreamGuestRights()
	}
	made := append(r.granted(foreignAccount), switches(features, r.features))
	if guest {
		made = append(made, switches(supervisorFeatures, supervisorFeatureStates()))
	}
	return made, nil
}

// switches is a ConfigMap of feature states.
func switches(name string, states map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: corev1.SchemeGroupVersion.String(), Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: objects.DefaultNamespace, Name: name}, Data: states,
	}
}

// granted returns a ServiceAccount that has these rights, and the roles, which have its name.
func (r rights) granted(account string) []runtime.Object {
	of := func(gv interface{ String() string }, kind string) metav1.TypeMeta {
		return metav1.TypeMeta{APIVersion: gv.String(), Kind: kind}
	}
	namespace := objects.DefaultNamespace
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: account}}
	made := []runtime.Object{
		&corev1.ServiceAccount{TypeMeta: of(corev1.SchemeGroupVersion, "ServiceAccount"), ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: account}},
		&rbacv1.ClusterRole{TypeMeta: of(rbacv1.SchemeGroupVersion, "ClusterRole"), ObjectMeta: metav1.ObjectMeta{Name: account}, Rules: r.cluster},
		&rbacv1.ClusterRoleBinding{
			TypeMeta: of(rbacv1.SchemeGroupVersion, "ClusterRoleBinding"), ObjectMeta: metav1.ObjectMeta{Name: account}, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: account},
		},
	}
	if len(r.namespaced) > 0 {
		made = append(made,
			&rbacv1.Role{TypeMeta: of(rbacv1.SchemeGroupVersion, "Role"), ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: account}, Rules: r.namespaced},
			&rbacv1.RoleBinding{
				TypeMeta: of(rbacv1.SchemeGroupVersion, "RoleBinding"), ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: account}, Subjects: subjects,
				RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: account},
			})
	}
	return made
}

// rights are what a manifest grants to a driver's controller, in the cluster and in its namespace, and its switches.
type rights struct {
	cluster, namespaced []rbacv1.PolicyRule
	features            map[string]string
}

// controllerContainer is the driver's container in upstream's manifests, the pod of which has the account.
const controllerContainer = "vsphere-csi-controller"

// eachDocument calls f with the kind of each document of a manifest.
func eachDocument(manifest []byte, f func(kind string, raw []byte) error) error {
	for from := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifest), 4096); ; {
		var raw runtime.RawExtension
		err := from.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return nil
		}
		var kind metav1.TypeMeta
		if err == nil {
			err = yaml.Unmarshal(raw.Raw, &kind)
		}
		if err != nil {
			return fmt.Errorf("manifest of the CSI driver: %w", err)
		}
		if err := f(kind.Kind, raw.Raw); err != nil {
			return fmt.Errorf("manifest of the CSI driver: %s: %w", kind.Kind, err)
		}
	}
}

// readRights reads from a manifest what it grants to the ServiceAccount of a container.
func readRights(manifest []byte, container string) (rights, error) {
	r := rights{features: map[string]string{}}
	account := ""
	roles, bound := map[string][]rbacv1.PolicyRule{}, map[string][]rbacv1.Subject{}
	err := eachDocument(manifest, func(kind string, raw []byte) (err error) {
		read := func(into any) error { return yaml.Unmarshal(raw, into) }
		switch kind {
		case "ConfigMap":
			var c corev1.ConfigMap
			if err = read(&c); err == nil && c.Name == features {
				r.features = c.Data
			}
		case "Deployment":
			var w appsv1.Deployment
			err = read(&w)
			if slices.ContainsFunc(w.Spec.Template.Spec.Containers, func(c corev1.Container) bool { return c.Name == container }) {
				account = w.Spec.Template.Spec.ServiceAccountName
			}
		case "ClusterRole", "Role":
			var role rbacv1.ClusterRole
			err = read(&role)
			roles[kind+" "+role.Name] = role.Rules
		case "ClusterRoleBinding", "RoleBinding":
			var b rbacv1.ClusterRoleBinding
			err = read(&b)
			at := kind + " " + b.RoleRef.Kind + " " + b.RoleRef.Name
			bound[at] = append(bound[at], b.Subjects...)
		}
		return err
	})
	if err != nil {
		return r, err
	}
	if account == "" {
		return r, fmt.Errorf("manifest of the CSI driver: no Deployment has a container %s with a ServiceAccount", container)
	}
	for role, rules := range roles {
		has := func(binding string) bool {
			return slices.ContainsFunc(bound[binding+" "+role], func(s rbacv1.Subject) bool { return s.Kind == rbacv1.ServiceAccountKind && s.Name == account })
		}
		if has("ClusterRoleBinding") {
			r.cluster = append(r.cluster, rules...)
		}
		if has("RoleBinding") {
			r.namespaced = append(r.namespaced, rules...)
		}
	}
	if len(r.cluster) == 0 {
		return r, fmt.Errorf("manifest of the CSI driver: it grants nothing to ServiceAccount %s", account)
	}
	return r, nil
}

// upstreamRights are those of manifests/vanilla/vsphere-csi-driver.yaml in vsphere-csi-driver v3.7.0.
func upstreamRights() rights {
	const storage, cns, snapshots = "storage.k8s.io", "cns.vmware.com", "snapshot.storage.k8s.io"
	rule := func(group, resource string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
	}
	return rights{
		features: map[string]string{"trigger-csi-fullsync": "false", "pv-to-backingdiskobjectid-mapping": "false"},
		cluster: []rbacv1.PolicyRule{
			rule("", "nodes", "get", "list", "watch"),
			rule("", "pods", "get", "list", "watch"),
			rule("", "configmaps", "get", "list", "watch", "create"),
			rule("", "persistentvolumeclaims", "get", "list", "watch", "update"),
			rule("", "persistentvolumeclaims/status", "patch"),
			rule("", "persistentvolumes", "get", "list", "watch", "create", "update", "delete", "patch"),
			rule("", "events", "get", "list", "watch", "create", "update", "patch"),
			rule("coordination.k8s.io", "leases", "get", "watch", "list", "delete", "update", "create"),
			rule(storage, "storageclasses", "get", "list", "watch"),
			rule(storage, "csinodes", "get", "list", "watch"),
			rule(storage, "volumeattachments", "get", "list", "watch", "patch"),
			rule(storage, "volumeattachments/status", "patch"),
			rule(cns, "triggercsifullsyncs", "create", "get", "update", "watch", "list"),
			rule(cns, "cnsvspherevolumemigrations", "create", "get", "list", "watch", "update", "delete"),
			rule(cns, "cnsvolumeinfoes", "create", "get", "list", "watch", "delete"),
			rule(cns, "cnsvolumeoperationrequests", "create", "get", "list", "update", "delete"),
			rule(cns, "csinodetopologies", "get", "update", "watch", "list"),
			rule("apiextensions.k8s.io", "customresourcedefinitions", "get", "create", "update"),
			rule(snapshots, "volumesnapshots", "get", "list"),
			rule(snapshots, "volumesnapshotclasses", "watch", "get", "list"),
			rule(snapshots, "volumesnapshotcontents", "create", "get", "list", "watch", "update", "delete", "patch"),
			rule(snapshots, "volumesnapshotcontents/status", "update", "patch"),
		},
	}
}
