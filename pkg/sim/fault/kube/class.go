package kube

import (
	"context"
	"maps"

	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// policyParameter is the parameter of a StorageClass that names a storage policy.
const policyParameter = "storagepolicyname"

func unknownPolicy() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "storageclass.unknown-policy", Object: fault.Sandbox, Needs: []fault.Need{fault.Clustered}, Aspect: "storageclass",
		Short: "has a StorageClass name a storage policy that no vCenter has",
		Long: "What a wrong letter does, or a policy that was renamed or deleted in vCenter: claims of the class stay pending, and the events of csi-provisioner say why. Volumes " +
			"that there are do not notice. A class cannot be changed: it is deleted and created again. Healing creates the original; claims that wait are bound then.",
		Params: []fault.Param{
			{Name: "class", Short: "the StorageClass", Type: fault.Text, Default: "vsphere"},
			{Name: "policy", Short: "the policy that it names", Type: fault.Text, Default: "no-such-policy"},
		},
	}, fault.Steps[storagev1.StorageClass]{
		Plan: func(ctx context.Context, c *fault.Call) (before storagev1.StorageClass, _ string, _ error) {
			name := c.Params.Text("class")
			class, err := c.Ground.Cluster.Client().StorageV1().StorageClasses().Get(ctx, name, metav1.GetOptions{})
			switch {
			case apierrors.IsNotFound(err):
				return before, "", fault.Refuse("StorageClass %q not found", name)
			case err != nil:
				return before, "", err
			case class.Parameters[policyParameter] == c.Params.Text("policy"):
				return before, "", fault.Refuse("StorageClass %q: names policy %q already", name, c.Params.Text("policy"))
			}
			before = *class
			before.ObjectMeta = fresh(class.ObjectMeta)
			return before, "have StorageClass " + name + " name policy " + c.Params.Text("policy"), nil
		},
		Apply: func(ctx context.Context, c *fault.Call, before *storagev1.StorageClass) error {
			class := before.DeepCopy()
			class.Parameters = maps.Clone(class.Parameters)
			if class.Parameters == nil {
				class.Parameters = map[string]string{}
			}
			class.Parameters[policyParameter] = c.Params.Text("policy")
			return replaceClass(ctx, c, class, "names policy "+c.Params.Text("policy"))
		},
		Revert: func(ctx context.Context, c *fault.Call, before *storagev1.StorageClass) error {
			now, err := c.Ground.Cluster.Client().StorageV1().StorageClasses().Get(ctx, before.Name, metav1.GetOptions{})
			if err == nil && now.Parameters[policyParameter] != c.Params.Text("policy") {
				return nil // it is the original, or was replaced by another client
			}
			if err := unless(err, apierrors.IsNotFound); err != nil {
				return err
			}
			return replaceClass(ctx, c, before.DeepCopy(), "as it was before")
		},
	})
}

// replaceClass replaces the StorageClass with the same name.
func replaceClass(ctx context.Context, c *fault.Call, class *storagev1.StorageClass, message string) error {
	classes := c.Ground.Cluster.Client().StorageV1().StorageClasses()
	report(c, "object.changed", event.Object{Kind: "StorageClass", Name: class.Name}, "StorageClass "+class.Name+": "+message)
	if err := unless(classes.Delete(ctx, class.Name, metav1.DeleteOptions{}), apierrors.IsNotFound); err != nil {
		return err
	}
	_, err := classes.Create(ctx, class, metav1.CreateOptions{})
	return err
}
