package userconfig

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Folder returns the folder of the user's files: the value of ARENA_CONFIG_DIR,
// else arena in the user's configuration folder.
func Folder(getenv func(string) string) (string, error) {
	if folder := getenv("ARENA_CONFIG_DIR"); folder != "" {
		return folder, nil
	}
	folder, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("the folder for settings: %w; set ARENA_CONFIG_DIR", err)
	}
	return filepath.Join(folder, "arena"), nil
}

// Write replaces a file by the JSON of v. It makes the file's folder.
func Write(file string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	folder := filepath.Dir(file)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	temp, err := os.CreateTemp(folder, ".new-*") // with mode 0600
	if err != nil {
		return err
	}
	_, err = temp.Write(append(data, '\n'))
	err = errors.Join(err, temp.Sync(), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), file)
	}
	if err != nil {
		_ = os.Remove(temp.Name())
	}
	return err
}

// Read decodes the JSON of a file into v. A missing file is fs.ErrNotExist.
func Read(file string, v any) error {
	data, err := os.ReadFile(file) //nolint:gosec // G304: the user's own file
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}
