// Package doctor says what a cloud provider and a CSI driver will not be able to do at a real vCenter, and why.
//
//	for _, f := range doctor.Check(ctx, config, doctor.Options{UserAgent: "my-tool"}) {
//		fmt.Println(f.Level, f.ID, f.What, f.Why, f.Try)
//	}
//
// It only reads. What it knows of privileges is from pkg/provider/privilege.
//
// Floor 2, inside pkg/vcenter.
package doctor
