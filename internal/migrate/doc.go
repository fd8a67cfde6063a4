// Package migrate turns the configuration of the vSphere provider that was part of Kubernetes, and the INI form of the
// provider that is not, into what is used now: a vsphere.conf in YAML, a ConfigMap that holds it, Secrets with the
// credentials, a Secret with the csi-vsphere.conf of the CSI driver, and StorageClasses of that driver.
//
//	m, err := migrate.Convert(migrate.Source{Name: "vsphere.conf", Data: data}, migrate.Options{})
//	if err != nil {
//		return err // nothing has been converted
//	}
//	fmt.Print(m.Report.Text())
//	err = folder.Write("new", m.Files, false)
//
// Nothing is lost in silence. The report says of every line what became of it and why; what nobody knows is refused with
// its line and the nearest known name, or, when forced, dropped and said to be. Before it returns, Convert reads its own
// files with the readers of the provider and of the driver and compares what they mean with what the old file meant.
//
// Passwords are in the files alone, of which each has a masked text too; no report and no error has one.
//
// It reads and writes no files (package folder writes), asks no cluster and no vCenter, and prints nothing.
//
// Floor 2: of this module it imports provider/config, csi/config, csi/names and internal/nearest.
package migrate
