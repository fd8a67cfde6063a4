// Package doctor reports what a cloud provider and a CSI driver cannot do at a vCenter, and why.
//
//	for _, f := range doctor.Check(ctx, config, doctor.Options{UserAgent: "my-tool"}) {
//		fmt.Println(f.Level, f.ID, f.What, f.Why, f.Try)
//	}
//
// It only reads. Package pkg/provider/privilege has the required privileges.
//
// Floor 2, inside pkg/vcenter.
package doctor
