// Package folder writes the files of a migration to a folder: all of them, or none. Files with credentials are readable by
// their owner alone.
//
// It does not know what is in them; package migrate does.
//
// Floor 2: of this module it imports internal/migrate.
package folder
