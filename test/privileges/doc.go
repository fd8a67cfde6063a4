// Package privileges shows that what pkg/provider/privilege says is so: with its roles, created and granted by
// internal/migrate/roles in a vCenter that enforces permissions, the cloud provider and the CSI driver do all that they can
// do; without any one privilege, or any one grant, exactly those operations fail that are said to, with those words.
//
// It has only tests. docs/privileges.md is printed from the same list.
//
// Floor 5.
package privileges
