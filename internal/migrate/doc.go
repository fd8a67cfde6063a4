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
// Nothing is lost silently. The report has the result for every line of the old file, and the reason. Convert refuses an unknown
// line, with its number and the nearest known name; Force drops it and reports that. Before it returns, Convert reads the new
// files with the readers of the provider and of the driver, and compares their meaning with that of the old file.
//
// Passwords are in the files alone, of which each has a masked text too; no report and no error has one.
//
// It reads and writes no files (package folder writes), asks no cluster and no vCenter, and prints nothing.
//
// Floor 2: of this module it imports provider/config, csi/config, csi/names and internal/nearest.
package migrate
